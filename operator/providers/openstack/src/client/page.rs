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
            (false, _) => return Ok(found),
            // Nothing to go on from, although there is more: whatever comes after would be missed.
            (true, None) => break,
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

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    async fn list(pages: &[(&[&str], bool)]) -> Result<Vec<String>, CloudError> {
        let fetch = |marker: Option<String>| {
            let after = |(items, _): &&(&[&str], bool)| items.last().copied() == marker.as_deref();
            let at = marker.as_ref().map_or(0, |_| {
                pages
                    .iter()
                    .position(|page| after(&page))
                    .map_or(0, |at| at + 1)
            });
            let (items, more) = pages[at];
            let items = items.iter().map(|&item| item.to_owned()).collect();
            ready(Ok(Page { items, more }))
        };
        all("things", |item: &String| item, fetch).await
    }

    #[tokio::test]
    async fn all_pages_are_read_and_a_short_one_is_not_the_last() {
        let pages: [(&[&str], bool); 3] = [(&["a", "b"], true), (&["c"], true), (&[], false)];
        assert_eq!(list(&pages).await.unwrap(), ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn an_empty_page_that_promises_more_is_an_error_and_not_the_end() {
        let pages: [(&[&str], bool); 2] = [(&["a"], true), (&[], true)];
        assert!(matches!(list(&pages).await, Err(CloudError::Unknown(_))));
    }
}
