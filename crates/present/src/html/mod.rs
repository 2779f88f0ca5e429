//! The report as a page: one file that asks for nothing else, in both languages, read as tables without a script.
//!
//! What a page says is documents, which [`print::html`](crate::print::html) writes; here stand the sections around them.

mod answer;
mod facts;
mod figures;
mod fleet;
mod page;

use hostmark_model::{Lang, Text};

pub use figures::{FIGURES, FigureKind};
pub use fleet::page as fleet;
pub use page::{of_comparison as comparison, page};

use crate::RenderOptions;
use crate::document::Block;
use crate::markup::markup;
use crate::print::html;

const STYLE: &str = include_str!("templates/style.css");
const SCRIPT: &str = concat!(include_str!("templates/script.js"), include_str!("templates/table.js"));

/// Parts in which pages differ, as markup.
#[derive(Default)]
struct Frame<'a> {
    title: &'a str,
    heading: &'a str,
    machines: &'a str,
    nav: &'a str,
    main: &'a str,
    method: &'a str,
    data: &'a str,
    style: &'a str,
    script: &'a str,
}

impl Frame<'_> {
    fn write(&self, options: &RenderOptions) -> String {
        let Frame { title, heading, machines, nav, main, method, data, style, script } = *self;
        let (lang, en, zh) = match options.lang {
            Lang::En => ("en", " checked", ""),
            Lang::Zh => ("zh-CN", "", " checked"),
        };
        format!(
            include_str!("templates/frame.html"),
            title = title,
            version = env!("CARGO_PKG_VERSION"),
            style = [STYLE, style].concat(),
            lang = lang,
            en = en,
            zh = zh,
            heading = heading,
            machines = machines,
            nav = nav,
            main = main,
            method = method,
            data = data,
            script = script,
        )
    }
}

/// A series over time as a page that stands alone; its title stands in the frame.
pub(crate) fn over_time(document: &[Block], options: &RenderOptions) -> String {
    let main = format!("<section>\n{}</section>\n", html::write(&document[1..], 1, &|| 0));
    let heading = say(term!("Over time"));
    Frame { title: "hostmark over time", heading: &heading, main: &main, ..Frame::default() }.write(options)
}

fn say(text: Text) -> String {
    markup(&text.into())
}
