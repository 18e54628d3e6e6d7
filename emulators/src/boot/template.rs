//! What does cloud-init make of `{{ v1.instance_id }}`?

use crate::machine::Boot;

const HEADER: &str = "## template: jinja";

/// The text with expressions replaced, if its first line asks for it. Only plain `{{ v1.x }}` is understood.
pub(super) fn render(text: &str, boot: &Boot) -> Result<String, String> {
    let Some(body) = text.strip_prefix(HEADER) else {
        return Ok(text.to_owned());
    };
    let body = body
        .strip_prefix("\r\n")
        .or_else(|| body.strip_prefix('\n'))
        .unwrap_or(body);
    if body.contains("{%") {
        return Err(
            "cloud-init: `{% … %}` in a template is more than this machine understands".to_owned(),
        );
    }
    let mut rendered = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((before, after)) = rest.split_once("{{") {
        let (expression, after) = after
            .split_once("}}")
            .ok_or_else(|| "cloud-init: the template has `{{` without `}}`".to_owned())?;
        rendered.push_str(before);
        rendered.push_str(fact(expression.trim(), boot)?);
        rest = after;
    }
    rendered.push_str(rest);
    Ok(rendered)
}

fn fact<'a>(expression: &str, boot: &'a Boot) -> Result<&'a str, String> {
    match expression {
        "v1.instance_id" => Ok(&boot.machine),
        "v1.local_hostname" => Ok(&boot.hostname),
        "v1.availability_zone" => Ok(&boot.zone),
        "v1.region" => Ok(&boot.region),
        "v1.cloud_name" => Ok("openstack"),
        other => Err(format!(
            "cloud-init: cannot render {{{{ {other} }}}}; there are v1.instance_id, v1.local_hostname, v1.availability_zone, v1.region, v1.cloud_name"
        )),
    }
}
