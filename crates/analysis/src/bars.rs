//! Values as bars beside each other, one group under the other: a picture of data, whoever draws it.

use hostmark_model::Message;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    pub title: Message,
    /// Labels of the bars of every group, in order.
    pub names: Vec<String>,
    pub groups: Vec<BarGroup>,
    pub scale: Scale,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// 10^6 bytes a second.
    #[default]
    Rate,
    /// Seconds.
    Time,
}

/// Bars that are held against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct BarGroup {
    pub label: Message,
    /// One for each name: the value as a number and for people, with its share of the first; none where there is no value.
    pub bars: Vec<Option<(f64, Message)>>,
}

impl Bars {
    /// The greatest value; none where there is no value above zero.
    pub fn most(&self) -> Option<f64> {
        let values = self.groups.iter().flat_map(|group| &group.bars).flatten().map(|(value, _)| *value);
        values.filter(|value| value.is_finite()).reduce(f64::max).filter(|most| *most > 0.0)
    }
}
