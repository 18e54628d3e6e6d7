//! Does this image, network or flavor match what the class asks for?
//!
//! Fields of one term must all match, any term may match. Pure: the lists were fetched whole.

use crds::openstack::select::{FlavorSelectorTerm, ImageSelectorTerm, Visibility};
use crds::shared::selector::TaggedTerm;
use regex::{Regex, RegexBuilder};

use crate::client::flavors::Flavor;
use crate::client::images::Image;
use crate::client::networks::Tagged;

/// Images any term chooses, newest first; ties by id. Err names the term that cannot be read.
pub(crate) fn images<'a>(
    terms: &[ImageSelectorTerm],
    all: &'a [Image],
) -> Result<Vec<&'a Image>, String> {
    let active: Vec<&Image> = all
        .iter()
        .filter(|image| image.status == "active")
        .collect();
    let mut chosen: Vec<&Image> = Vec::new();
    for (at, term) in terms.iter().enumerate() {
        let regex = whole(term.name_regex.as_deref(), "imageSelectorTerms", at)?;
        let named = |image: &&&Image| {
            term.alias
                .as_deref()
                .is_none_or(|alias| image.name == alias)
        };
        let fits = |image: &&&Image| image_fits(term, regex.as_ref(), image);
        let by_name: Vec<&Image> = active.iter().filter(named).filter(fits).copied().collect();
        match (&term.alias, by_name.is_empty()) {
            (Some(alias), true) => chosen.extend(
                active
                    .iter()
                    .filter(|image| of_family(image, alias))
                    .filter(fits),
            ),
            _ => chosen.extend(by_name),
        }
    }
    chosen.sort_by(|a, b| {
        b.created_at
            .cmp(&a.created_at)
            .then_with(|| a.id.cmp(&b.id))
    });
    chosen.dedup_by(|a, b| a.id == b.id);
    Ok(chosen)
}

/// Flavors any term chooses; without terms all of them.
pub(crate) fn flavors<'a>(
    terms: Option<&[FlavorSelectorTerm]>,
    all: &'a [Flavor],
) -> Result<Vec<&'a Flavor>, String> {
    let Some(terms) = terms.filter(|terms| !terms.is_empty()) else {
        return Ok(all.iter().collect());
    };
    let regexes = terms
        .iter()
        .enumerate()
        .map(|(at, term)| whole(term.name_regex.as_deref(), "flavorSelectorTerms", at))
        .collect::<Result<Vec<_>, _>>()?;
    let fits = |flavor: &&Flavor| {
        terms
            .iter()
            .zip(&regexes)
            .any(|(term, regex)| flavor_fits(term, regex.as_ref(), flavor))
    };
    Ok(all.iter().filter(fits).collect())
}

/// Networks, subnets or security groups a term chooses.
pub(crate) fn tagged<'a>(term: &TaggedTerm, all: &'a [Tagged]) -> Vec<&'a Tagged> {
    let has_tags = |one: &Tagged| term.tags.iter().flatten().all(|tag| one.tags.contains(tag));
    let empty = term.id.is_none() && term.name.is_none() && term.tags.is_none();
    let fits = |one: &&Tagged| {
        !empty
            && given(term.id.as_deref(), &one.id)
            && given(term.name.as_deref(), &one.name)
            && has_tags(one)
    };
    all.iter().filter(fits).collect()
}

/// A term as people can recognise it.
pub(crate) fn shown(term: &TaggedTerm) -> String {
    let mut parts = Vec::new();
    parts.extend(term.id.as_ref().map(|id| format!("id {id}")));
    parts.extend(term.name.as_ref().map(|name| format!("name {name}")));
    parts.extend(
        term.tags
            .as_ref()
            .map(|tags| format!("tags {}", tags.join(", "))),
    );
    parts.join(" and ")
}

fn image_fits(term: &ImageSelectorTerm, regex: Option<&Regex>, image: &Image) -> bool {
    let visibility = |wanted: Visibility| match wanted {
        Visibility::Public => "public",
        Visibility::Private => "private",
        Visibility::Shared => "shared",
        Visibility::Community => "community",
    };
    // A term without any field chooses nothing: the prototype let people write one.
    let says = term != &ImageSelectorTerm::default();
    says && given(term.id.as_deref(), &image.id)
        && given(term.name.as_deref(), &image.name)
        && given(term.owner.as_deref(), &image.owner)
        && given(term.visibility.map(visibility), &image.visibility)
        && regex.is_none_or(|regex| regex.is_match(&image.name))
        && term
            .tags
            .iter()
            .flatten()
            .all(|tag| image.tags.contains(tag))
        && term
            .properties
            .iter()
            .flatten()
            .all(|(key, value)| image.property(key) == Some(value))
}

fn of_family(image: &Image, alias: &str) -> bool {
    ["os_distro", "os_family"]
        .iter()
        .any(|key| image.property(key) == Some(alias))
}

fn flavor_fits(term: &FlavorSelectorTerm, regex: Option<&Regex>, flavor: &Flavor) -> bool {
    let spec = |(key, wanted): (&String, &String)| {
        let found = flavor.extra_specs.get(key);
        found.is_some_and(|found| wanted == "*" || found == wanted)
    };
    term != &FlavorSelectorTerm::default()
        && given(term.id.as_deref(), &flavor.id)
        && given(term.name.as_deref(), &flavor.name)
        && regex.is_none_or(|regex| regex.is_match(&flavor.name))
        && term.extra_specs.iter().flatten().all(spec)
}

fn given(wanted: Option<&str>, found: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == found)
}

/// A regular expression the whole name must match.
fn whole(pattern: Option<&str>, list: &str, at: usize) -> Result<Option<Regex>, String> {
    let compile = |pattern: &str| {
        RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(1 << 20).build().map_err(|_| {
            format!("spec.{list}[{at}].nameRegex {pattern:?} is no regular expression; correct it or use name")
        })
    };
    pattern.map(compile).transpose()
}
