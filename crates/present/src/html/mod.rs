//! The report as a page: one file that asks for nothing else, in both languages, read as tables without a script.
//!
//! What a page says is gathered into plain data ([`page`]); the template lays it out. Two things become markup in Rust:
//! charts, and texts of two languages. The template engine writes every other string through [`escaped`].

mod answer;
mod facts;
mod figures;
mod fleet;
mod gather;
mod layers;
mod network;
mod page;
mod table;

use hostmark_analysis::bilingual::{self, Words};
use hostmark_analysis::compare::Comparison;
use hostmark_analysis::fleet::Fleet;
use hostmark_model::{Run, Text};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value, escape_formatter};

pub use figures::{FIGURES, FigureKind};

use crate::RenderOptions;
use crate::markup::{escaped, markup};
use page::Page;

const TEMPLATE: &str = include_str!("templates/page.html");
const SWITCHES: &str = include_str!("templates/switches.html");
const ANSWER: &str = include_str!("templates/answer.html");
const FINDING: &str = include_str!("templates/finding.html");
const PROBE: &str = include_str!("templates/probe.html");
const FLEET: &str = include_str!("templates/fleet.html");
const FLEET_STYLE: &str = include_str!("templates/fleet.css");
const FLEET_SCRIPT: &str = include_str!("templates/fleet.js");
const STYLE: &str = include_str!("templates/style.css");
const SCRIPT: &str = concat!(include_str!("templates/script.js"), include_str!("templates/table.js"));

/// Several runs beside each other as a page that stands alone.
pub fn page(runs: &[Run], options: &RenderOptions) -> String {
    written(page::page(runs, options))
}

/// A comparison as a page that stands alone.
pub fn comparison(comparison: &Comparison, options: &RenderOptions) -> String {
    written(page::of_comparison(comparison, options))
}

fn written(page: Page) -> String {
    render(page).unwrap_or_else(|error| failed(&error)) + "\n"
}

/// The templates are part of the program and the tests render them: an error here is one of ours, and no reader's.
fn failed(error: &Error) -> String {
    format!("<!DOCTYPE html><title>hostmark</title>{}", escaped(&error.to_string()))
}

fn render(page: Page) -> Result<String, Error> {
    let mut environment = environment()?;
    environment.add_template("answer.html", ANSWER)?;
    environment.add_template("finding.html", FINDING)?;
    environment.add_template("probe.html", PROBE)?;
    environment.add_template("page.html", TEMPLATE)?;
    let page = Value::from(Serde(page));
    let (style, script) = (markup_of(STYLE), markup_of(SCRIPT));
    environment.get_template("page.html")?.render(minijinja::context! { page, style, script })
}

/// A fleet as a page that stands alone.
pub fn fleet(fleet: &Fleet, options: &RenderOptions) -> String {
    let page = fleet::page(fleet, options);
    let rendered = || -> Result<String, Error> {
        let mut environment = environment()?;
        environment.add_template("fleet.html", FLEET)?;
        let data = markup_of(&page.data);
        let (style, own_style, script) = (markup_of(STYLE), markup_of(FLEET_STYLE), markup_of(FLEET_SCRIPT));
        let page = Value::from(Serde(&page));
        environment.get_template("fleet.html")?.render(minijinja::context! { page, data, style, own_style, script })
    };
    rendered().unwrap_or_else(|error| failed(&error)) + "\n"
}

/// What all templates can say.
fn environment<'source>() -> Result<Environment<'source>, Error> {
    let mut environment = Environment::empty();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(write_value);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("count", |list: Value| list.len());
    environment.add_filter("say", |text: Value| said(&text));
    environment.add_function("say", |en: String, zh: String| Value::from_safe_string(markup(&Words { en, zh })));
    environment.add_template("switches.html", SWITCHES)?;
    environment.add_filter("markup", |markup: String| Value::from_safe_string(markup));
    Ok(environment)
}

/// What is markup already.
fn markup_of(text: &str) -> Value {
    Value::from_safe_string(text.to_owned())
}

/// The markup of a text in both languages.
fn said(text: &Value) -> Result<Value, Error> {
    let part = |name: &str| text.get_attr(name)?.as_str().map(str::to_owned).ok_or_else(no_text);
    Ok(Value::from_safe_string(markup(&Text { en: part("en")?, zh: part("zh")? })))
}

fn no_text() -> Error {
    Error::new(ErrorKind::InvalidOperation, "this is no text in two languages")
}

/// Writes what is not markup already so that it cannot become any.
fn write_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) if !value.is_safe() => Ok(out.write_str(&escaped(text))?),
        _ => escape_formatter(out, state, value),
    }
}
