//! What is read of machines that are not this one, from trees of files made here, and of this one.

mod devices;
mod disturbances;
mod environment;
mod limits;
mod machines;
mod noise;
mod page;
mod placement;
mod spare;
mod this_machine;
mod topology;
mod tree;
