//! Makes of the long texts, `src/**/<name>.md`, and of `terms.md` what `texts` has.

use hostmark_texts::{keyed, terms, write};

fn main() {
    let out = keyed("src", |_| true) + &terms("terms.md");
    write(&["src", "terms.md"], &format!("pub(crate) use hostmark_model::Text;\n{out}"));
}
