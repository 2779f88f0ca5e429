//! Makes of what importers say of their values, `src/**/<name>.md`, and of `terms.md` what `texts` has.

use hostmark_texts::{keyed, terms, write};

fn main() {
    let is_constant = |heading: &str| !["passed over", "text passed over", "why", "what of"].contains(&heading);
    let out = keyed("src", is_constant) + &terms("terms.md");
    write(&["src", "terms.md"], &format!("pub(crate) use hostmark_model::Text;\n{out}"));
}
