//! Has the whole list been read?
//!
//! A short page need not be the last, only the absence of a next link tells. The links themselves are never followed: they
//! may show another host, or have lost a filter. A list that does not advance is an error, not the end.

use std::future::Future;

use cloud::CloudError;
use serde_json::Value;

const MOST_PAGES: usize = 2_000;

/// One page: its items and whether there is another.
pub(super) struct Page<T> {
    pub items: Vec<T>,
    pub more: bool,
}

/// All items of all pages, or an error.
pub(super) async fn all<T, F, Fut>(
    what: &str,
    id: impl Fn(&T) -> &str,
    fetch: F,
) -> Result<Vec<T>, CloudError>
where
    F: Fn(Option<String>) -> Fut,
    Fut: Future<Output = Result<Page<T>, CloudError>>,
{
    let mut found: Vec<T> = Vec::new();
    let mut marker: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let page = fetch(marker.clone()).await?;
        let last = page.items.last().map(|item| id(item).to_owned());
        found.extend(page.items);
        match (page.more, last) {
            (false, _) | (true, None) => return Ok(found),
            (true, last) if last == marker => break,
            (true, last) => marker = last,
        }
    }
    Err(CloudError::unknown(&format!(
        "the list of {what} does not end"
    )))
}

/// Nova's and Neutron's way: a list of links, in which Neutron always has a `previous`.
pub(super) fn has_next(links: Option<&Vec<Value>>) -> bool {
    links
        .into_iter()
        .flatten()
        .any(|link| link.get("rel").and_then(Value::as_str) == Some("next"))
}
