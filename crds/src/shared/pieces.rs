//! How does a generated CustomResourceDefinition become one that treats null as the prototypes' did?
//!
//! The derive marks every optional field `nullable`, which would accept and store `null`; controllers written in Go never
//! did, and a stored `null` is a fourth kind of absence nobody wants.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// The same definition without `nullable`.
pub fn not_nullable(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(schema) = schema {
            strip(schema);
        }
    }
    crd
}

fn strip(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    if let Some(allowed) = &mut schema.enum_ {
        allowed.retain(|value| !value.0.is_null());
    }
    for property in schema.properties.iter_mut().flat_map(|all| all.values_mut()) {
        strip(property);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        strip(values);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        strip(items);
    }
}
