//! Makes of what importers say of their values, `src/**/<name>.md`, what `texts` has.

fn main() {
    let out = hostmark_texts::keyed("src", |_| true);
    hostmark_texts::write(&["src"], &format!("use hostmark_model::Text;\n{out}"));
}
