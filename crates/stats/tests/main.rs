//! What samples say, against simulations and against other libraries.

mod coverage;
mod hierarchy;
mod scipy;
