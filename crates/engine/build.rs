//! Makes of `terms.md` the macro `term!`, and of sentences with placeholders (`src/**/<name>.md`) what `texts` has.

use hostmark_texts::{keyed, terms, write};

fn main() {
    let out = keyed("src", |_| false) + &terms("terms.md");
    write(&["src", "terms.md"], &format!("pub(crate) use hostmark_model::Text;\n{out}"));
}
