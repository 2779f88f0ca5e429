//! What all operations of a round come to: the mean of one, and the rate over all of their time. A median hides stalls: a
//! device that serves a burst at once and then makes the next request wait is fast by half of its requests.

use hostmark_model::Unit;

use crate::quantity::{Quantity, ValueSource};

/// All operations of a round's samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// How many.
    pub operations: u64,
    /// The time from the first to the last of them, as far as it is theirs, ns.
    pub ns: f64,
}

impl Totals {
    /// Takes so many more into account.
    pub fn add(&mut self, operations: u64, ns: f64) {
        self.operations = self.operations.saturating_add(operations);
        self.ns += ns;
    }

    /// The value of `quantity` where it is one of these. `mean_ns`: the mean of operations that were timed one by one;
    /// `amount`: what one operation moves or does, 0 for a time; `unit`: that of the probe's value.
    pub fn value(&self, quantity: &Quantity, mean_ns: Option<f64>, amount: u64, unit: Unit) -> Option<f64> {
        if self.operations == 0 || self.ns <= 0.0 {
            return None;
        }
        if quantity.source == ValueSource::Mean {
            return Some(mean_ns.unwrap_or(self.ns / self.operations as f64));
        }
        let each = match quantity.unit == unit {
            true => amount.max(1),
            // Requests of a rate of bytes.
            false => 1,
        };
        let is_sustained = quantity.source == ValueSource::Sustained;
        is_sustained.then(|| each as f64 * self.operations as f64 * 1e9 / self.ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_bytes_is_sustained_in_bytes_or_in_requests_as_is_asked() {
        let mut whole = Totals::default();
        assert_eq!(whole.value(&Quantity::SUSTAINED, None, 0, Unit::Nanoseconds), None);
        whole.add(30, 1e9);
        whole.add(10, 1e9);
        let value = |quantity: &Quantity, mean_ns, amount, unit| whole.value(quantity, mean_ns, amount, unit).unwrap();
        assert_eq!(value(&Quantity::SUSTAINED, None, 0, Unit::Nanoseconds), 20.0);
        assert_eq!(value(&Quantity::SUSTAINED, None, 4096, Unit::BytesPerSecond), 20.0);
        assert_eq!(value(&Quantity::SUSTAINED_BYTES, None, 4096, Unit::BytesPerSecond), 81920.0);
        assert_eq!(value(&Quantity::MEAN, None, 0, Unit::Nanoseconds), 5e7);
        assert_eq!(value(&Quantity::MEAN, Some(7.0), 4096, Unit::BytesPerSecond), 7.0);
        assert_eq!(whole.value(&Quantity::P99, None, 0, Unit::Nanoseconds), None);
    }
}
