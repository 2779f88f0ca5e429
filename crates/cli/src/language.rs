//! The language of what people read: as asked, else as the locale says.

use clap::ValueEnum;
use hostmark_model::Lang;

/// A language as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// English.
    En,
    /// Simplified Chinese.
    Zh,
}

impl From<Language> for Lang {
    fn from(language: Language) -> Lang {
        match language {
            Language::En => Lang::En,
            Language::Zh => Lang::Zh,
        }
    }
}

/// The locale's language: the first of LC_ALL, LC_MESSAGES and LANG that is set.
pub fn of_locale() -> Language {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    of_name(["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set).as_deref())
}

fn of_name(locale: Option<&str>) -> Language {
    match locale {
        Some(name) if name.starts_with("zh") => Language::Zh,
        _ => Language::En,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_locales_get_chinese_and_all_others_english() {
        assert_eq!(of_name(Some("zh_CN.UTF-8")), Language::Zh);
        assert_eq!(of_name(Some("C.UTF-8")), Language::En);
        assert_eq!(of_name(None), Language::En);
    }
}
