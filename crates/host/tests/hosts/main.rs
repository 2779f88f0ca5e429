//! What is read of machines that are not this one, from trees of files made here, and of this one.

mod devices;
mod environment;
mod limits;
mod machines;
mod noise;
mod page;
mod placement;
mod this_machine;
mod topology;
