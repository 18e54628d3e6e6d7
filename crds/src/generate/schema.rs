//! What must change in a derived CRD before an API server should see it?

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Says what the derive cannot say, the way controller-gen says it: a list kind, the three fields every object has, no
/// titles, no `nullable` (the API server then drops a `null` instead of storing it), quantities as integer or string.
/// Doing it twice changes nothing.
pub fn polish(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let names = &mut crd.spec.names;
    names
        .list_kind
        .get_or_insert_with(|| format!("{}List", names.kind));
    for version in &mut crd.spec.versions {
        if let Some(root) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        {
            add_object_fields(root.properties.get_or_insert_default());
            tidy(root);
        }
    }
    crd
}

fn add_object_fields(properties: &mut BTreeMap<String, JSONSchemaProps>) {
    for (name, type_, description) in [
        (
            "apiVersion",
            "string",
            "Group and version this object is written in, `group/version`.",
        ),
        ("kind", "string", "Kind of this object, in CamelCase."),
        ("metadata", "object", ""),
    ] {
        properties
            .entry(name.to_owned())
            .or_insert_with(|| JSONSchemaProps {
                type_: Some(type_.to_owned()),
                description: (!description.is_empty()).then(|| description.to_owned()),
                ..Default::default()
            });
    }
}

fn tidy(schema: &mut JSONSchemaProps) {
    schema.title = None;
    schema.nullable = None;
    if let Some(values) = &mut schema.enum_ {
        values.retain(|value| !value.0.is_null());
    }
    if schema.x_kubernetes_int_or_string == Some(true) {
        schema.any_of = Some(["integer", "string"].map(of_type).to_vec());
    }
    for child in schema.properties.iter_mut().flat_map(BTreeMap::values_mut) {
        tidy(child);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        tidy(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values);
    }
}

fn of_type(name: &str) -> JSONSchemaProps {
    JSONSchemaProps {
        type_: Some(name.to_owned()),
        ..Default::default()
    }
}
