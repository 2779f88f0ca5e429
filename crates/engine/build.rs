//! Makes of `terms.md` the macro `term!`.

use hostmark_texts::{terms, write};

fn main() {
    write(&["terms.md"], &format!("pub(crate) use hostmark_model::Text;\n{}", terms("terms.md")));
}
