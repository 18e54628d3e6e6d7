//! What is untidy in this checkout: things no compiler looks at?

pub mod crates;
pub mod layers;
pub mod metadata;
pub mod sources;
pub mod tree;

use anyhow::{Result, bail};

use crate::generated::{self, reference::Reference};

/// Every finding, one line each, naming the place and the fix.
pub fn findings() -> Result<Vec<String>> {
    let root = crate::root();
    let mut findings = layers::broken(&metadata::read(&root)?);
    for name in layers::pure() {
        findings.extend(layers::impure(name, &tree::read(&root, Some(name))?));
    }
    let shipped = tree::read(&root, None)?;
    findings.extend(crates::banned(&shipped));
    findings.extend(crates::duplicates(&shipped));
    findings.extend(crates::licences(&shipped));
    findings.extend(sources::untidy(&sources::tracked(&root)?));
    let said = Reference::as_built()?;
    findings.extend(generated::stale(&root, &generated::files(&said)));
    Ok(findings)
}

pub fn run() -> Result<()> {
    Reference::of_a_fresh_build()?;
    let findings = findings()?;
    if findings.is_empty() {
        println!("tidy: nothing to say");
        return Ok(());
    }
    bail!("{} findings\n{}", findings.len(), findings.join("\n"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_checkout_is_tidy() {
        assert_eq!(super::findings().unwrap(), Vec::<String>::new());
    }
}
