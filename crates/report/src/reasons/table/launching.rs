//! Agents and programs that are started elsewhere.

use super::Pair;

pub(super) const PAIRS: &[Pair] = &[("stopped on request; start again when you like", "已按要求停止；可随时重新开始")];
