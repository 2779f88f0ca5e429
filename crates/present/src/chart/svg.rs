//! The few elements of SVG that the charts are made of.

use std::fmt::Write;

use hostmark_analysis::Spoken;
use hostmark_analysis::typography::typeset;
use hostmark_model::{Lang, Message};
use hostmark_say::say;

use super::scale::Axis;
use crate::wrap::escaped;

/// A picture in units of about a pixel on a narrow screen; the page scales it to its column.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Position of a text relative to its point.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Svg {
        Svg { width, height, body: String::new() }
    }

    pub(super) fn open(&mut self, class: &str) {
        let _ = write!(self.body, "<g class=\"{class}\">");
    }

    /// A group of marks that belong to what `label` says.
    pub(super) fn open_series(&mut self, class: &str, label: &Message) {
        let [en, zh] = [Lang::En, Lang::Zh].map(|lang| escaped(&label.get(lang)));
        let other = if en == zh { String::new() } else { format!(" data-zh=\"{zh}\"") };
        let _ = write!(self.body, "<g class=\"{class}\" data-en=\"{en}\"{other}>");
    }

    pub(super) fn close(&mut self) {
        self.body += "</g>";
    }

    pub(super) fn path(&mut self, class: &str, d: &str) {
        if !d.is_empty() {
            let _ = write!(self.body, "<path class=\"{class}\" d=\"{d}\"/>");
        }
    }

    /// A text, in both languages where they differ.
    pub(super) fn text(&mut self, class: &str, place: (f64, f64), anchor: Anchor, text: &Message) {
        self.text_by(class, place, anchor, |lang| text.get(lang));
    }

    /// A text that is cut to its place in each language.
    pub(super) fn text_by(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: impl Fn(Lang) -> String) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let place = format!("x=\"{}\" y=\"{}\"{anchor}{class}", num(x), num(y));
        let (en, zh) = (text(Lang::En), text(Lang::Zh));
        if en == zh {
            let _ = write!(self.body, "<text {place}>{}</text>", escaped(&en));
        } else {
            let _ = write!(self.body, "<text {place} lang=\"en\">{}</text>", escaped(&en));
            let _ = write!(self.body, "<text {place} lang=\"zh-CN\">{}</text>", escaped(&typeset(&zh, Lang::Zh)));
        }
    }

    /// A mark at a point, with its reading.
    pub(super) fn mark(&mut self, shape: &str, (x, y): (f64, f64), reading: &Message) {
        let _ = write!(self.body, "<use class=\"m\" href=\"{shape}\" x=\"{}\" y=\"{}\"", num(x), num(y));
        self.reading(reading);
        self.body += "</use>";
    }

    /// A mark of any outline, with its reading.
    pub(super) fn area(&mut self, class: &str, d: &str, reading: &Message) {
        let _ = write!(self.body, "<path class=\"m {class}\" d=\"{d}\"");
        self.reading(reading);
        self.body += "</path>";
    }

    /// The rest of an element's tag and its title.
    fn reading(&mut self, reading: &Message) {
        let (en, zh) = (reading.to_string(), reading.get(Lang::Zh));
        if en != zh {
            let _ = write!(self.body, " data-zh=\"{}\"", escaped(&typeset(&zh, Lang::Zh)));
        }
        let _ = write!(self.body, "><title>{}</title>", escaped(&en));
    }

    /// The lines of an axis of values from left to right, from the top to `bottom`, with the names of its ticks below; and
    /// where on it a value stands.
    pub(super) fn grid<'a>(
        &mut self,
        x: &'a Axis,
        (left, right): (f64, f64),
        bottom: f64,
    ) -> impl Fn(f64) -> f64 + use<'a> {
        let at = move |value: f64| left + x.place_within(value) * (right - left);
        let mut lines = String::new();
        for (tick, name) in &x.ticks {
            lines += &format!("M{} 2V{}", num(at(*tick)), num(bottom));
            let anchor = match at(*tick) {
                place if place < left + 14.0 => Anchor::Start,
                place if place > right - 14.0 => Anchor::End,
                _ => Anchor::Middle,
            };
            self.text("", (at(*tick), bottom + 14.0), anchor, name);
        }
        self.path("grid", &lines);
        at
    }

    pub(super) fn finish(self, class: &str) -> String {
        let (width, height) = (num(self.width), num(self.height));
        format!("<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\">{}</svg>", self.body)
    }
}

/// A coordinate with one digit behind the point at most; never NaN or infinity.
pub(super) fn num(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The part of a picture in which values stand, and its two axes.
pub(super) struct Plot<'a> {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: &'a Axis,
    pub(super) y: &'a Axis,
}

impl Plot<'_> {
    pub(super) fn x(&self, value: f64) -> f64 {
        self.left + self.x.place_within(value) * (self.right - self.left)
    }

    /// Tells whether a value lies between the ends of the axis from left to right.
    pub(super) fn has(&self, x: f64) -> bool {
        self.x.place(x).is_some_and(|at| (0.0..=1.0).contains(&at))
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        self.bottom - self.y.place_within(value) * (self.bottom - self.top)
    }

    /// Lines at the ticks and what is written beside them, and the axes' titles.
    pub(super) fn draw(&self, svg: &mut Svg, x_title: &Message, y_title: &Message) {
        let (mut grid, mut short) = (String::new(), String::new());
        for (at, _) in &self.y.ticks {
            let _ = write!(grid, "M{} {}H{}", num(self.left), num(self.y(*at)), num(self.right));
        }
        for (at, _) in &self.x.ticks {
            let _ = write!(short, "M{} {}v3", num(self.x(*at)), num(self.bottom));
        }
        svg.path("grid", &grid);
        let _ = write!(short, "M{} {}H{}", num(self.left), num(self.bottom), num(self.right));
        svg.path("axis", &short);
        for (at, name) in &self.y.ticks {
            svg.text("", (self.left - 4.0, self.y(*at) + 3.5), Anchor::End, name);
        }
        for (at, name) in &self.x.ticks {
            // The last name must not stand out of the picture.
            let (place, anchor) = match self.x(*at) {
                place if place > self.right - 14.0 => (self.right + 8.0, Anchor::End),
                place => (place, Anchor::Middle),
            };
            svg.text("", (place, self.bottom + 14.0), anchor, name);
        }
        svg.text("title", (2.0, 10.0), Anchor::Start, &titled(y_title, self.y));
        svg.text("title", (self.right, self.bottom + 29.0), Anchor::End, &titled(x_title, self.x));
    }
}

fn titled(title: &Message, axis: &Axis) -> Message {
    if !axis.is_log() {
        return title.clone();
    }
    say!("{title} (log)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinate_is_short_and_always_a_number() {
        let cases = [(1.0, "1"), (1.25, "1.2"), (-0.01, "0"), (f64::NAN, "0"), (f64::INFINITY, "0"), (12.34, "12.3")];
        for (value, text) in cases {
            assert_eq!(num(value), text);
        }
    }
}
