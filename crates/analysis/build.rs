//! Makes of the texts of findings, `src/findings/**/<name>.md`, what `texts::findings` has.

fn main() {
    let is_remedy = |heading: &str| heading.ends_with("cure");
    let out = hostmark_texts::module("findings", &hostmark_texts::keyed("src/findings", is_remedy));
    hostmark_texts::write(&["src/findings"], &format!("use hostmark_model::Text;\n{out}"));
}
