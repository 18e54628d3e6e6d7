//! Are credentials read from every place people keep them, and is what is missing named?

use super::*;
use rstest::rstest;
use secrecy::ExposeSecret;

const CLOUDS: &str = "
clouds:
  demo:
    region_name: RegionOne
    interface: internal
    verify: false
    auth:
      auth_url: https://keystone.example.org:5000
      username: demo
      project_name: demo
      user_domain_name: Default
      project_domain_id: default
";

fn env(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_secure_yaml_is_merged_over_clouds_yaml() {
    let secure = b"clouds: {demo: {auth: {password: canary}}}";
    let found = from_clouds_yaml(CLOUDS.as_bytes(), Some(secure), None).unwrap();
    assert_eq!(
        found.auth_url.as_str(),
        "https://keystone.example.org:5000/v3"
    );
    assert_eq!(
        (found.interface, found.insecure),
        (Interface::Internal, true)
    );
    assert_eq!(found.region.as_deref(), Some("RegionOne"));
    let Method::Password {
        user,
        password,
        project,
    } = &found.method
    else {
        panic!("{found:?}")
    };
    assert_eq!(password.expose_secret(), "canary");
    assert_eq!(
        *user,
        Named::Name {
            name: "demo".into(),
            domain: Domain::Name("Default".into())
        }
    );
    assert_eq!(
        *project,
        Named::Name {
            name: "demo".into(),
            domain: Domain::Id("default".into())
        }
    );
    assert!(!format!("{found:?}").contains("canary"));
}

#[rstest]
#[case(&[("OS_USERNAME", "u"), ("OS_PASSWORD", "p"), ("OS_PROJECT_NAME", "x")], "auth_url (OS_AUTH_URL)")]
#[case(&[("OS_AUTH_URL", "http://k"), ("OS_PASSWORD", "p")], "username or user_id (OS_USERNAME)")]
#[case(&[("OS_AUTH_URL", "http://k"), ("OS_USERNAME", "u")], "password (OS_PASSWORD)")]
#[case(&[("OS_AUTH_URL", "http://k"), ("OS_USERNAME", "u"), ("OS_PASSWORD", "p")], "project_name or project_id (OS_PROJECT_NAME)")]
#[case(&[("OS_AUTH_URL", "http://k"), ("OS_APPLICATION_CREDENTIAL_ID", "i")], "application_credential_secret (OS_APPLICATION_CREDENTIAL_SECRET)")]
fn what_is_missing_is_named(#[case] given: &[(&str, &str)], #[case] wanted: &str) {
    let error = from_env(&env(given)).unwrap_err();
    assert!(error.to_string().starts_with(wanted), "{error}");
}

#[test]
fn the_older_variables_still_work() {
    let given = [
        ("OS_AUTH_URL", "http://k:5000/v3/"),
        ("OS_USERID", "u1"),
        ("OS_PASSWORD", "p"),
        ("OS_TENANT_NAME", "t"),
        ("OS_DOMAIN_NAME", "corp"),
        ("OS_ENDPOINT_TYPE", "internalURL"),
    ];
    let found = from_env(&env(&given)).unwrap();
    assert_eq!(found.auth_url.as_str(), "http://k:5000/v3");
    let Method::Password { user, project, .. } = &found.method else {
        panic!("{found:?}")
    };
    assert_eq!(*user, Named::Id("u1".into()));
    assert_eq!(
        *project,
        Named::Name {
            name: "t".into(),
            domain: Domain::Name("corp".into())
        }
    );
    assert_eq!(found.interface, Interface::Internal);
}

#[test]
fn an_application_credential_is_taken_as_one_whatever_the_project_says() {
    let given = [
        ("OS_AUTH_URL", "http://k"),
        ("OS_APPLICATION_CREDENTIAL_ID", "i"),
        ("OS_APPLICATION_CREDENTIAL_SECRET", "canary"),
        ("OS_PROJECT_NAME", "demo"),
    ];
    let found = from_env(&env(&given)).unwrap();
    assert!(matches!(
        found.method,
        Method::ApplicationCredential {
            who: AppCredential::Id(_),
            ..
        }
    ));
}

#[test]
fn a_secret_may_hold_a_clouds_yaml_or_variables() {
    let secure = b"clouds: {demo: {auth: {password: p}}}".to_vec();
    let yaml = BTreeMap::from([
        ("clouds.yaml".to_owned(), CLOUDS.into()),
        ("secure.yaml".to_owned(), secure),
    ]);
    assert!(from_secret(&yaml, None, Some("demo")).is_ok());
    let vars = [
        ("OS_AUTH_URL", "http://k"),
        ("OS_USERNAME", "u"),
        ("OS_PASSWORD", "p"),
        ("OS_PROJECT_ID", "x"),
    ];
    let vars = vars
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
        .collect();
    assert!(from_secret(&vars, None, None).is_ok());
    let error = from_secret(&BTreeMap::new(), Some("cloud"), None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("\"cloud\""), "{error}");
}

#[test]
fn a_cloud_that_is_not_there_names_those_that_are() {
    let error = from_clouds_yaml(CLOUDS.as_bytes(), None, Some("prod"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("\"prod\"") && error.contains("demo"),
        "{error}"
    );
}

#[test]
fn a_broken_file_is_not_quoted() {
    let error =
        from_clouds_yaml(b"clouds: {demo: {auth: {password: canary", None, None).unwrap_err();
    assert!(!error.to_string().contains("canary"), "{error}");
}
