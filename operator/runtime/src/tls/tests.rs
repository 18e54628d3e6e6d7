//! Which changes on disk reach the clients, and what is said about those that do not?

use std::fs;
use std::path::PathBuf;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use super::{BadPair, Files, Rotation, TlsMetrics};
use crate::clock::Clock;
use crate::metrics::Metrics;

/// A folder of its own for each test, gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("joiner-tls-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn files(&self) -> Files {
        Files {
            certificate: self.0.join("tls.crt"),
            key: self.0.join("tls.key"),
        }
    }

    fn write(&self, (certificate, key): (&str, &str)) {
        fs::write(self.files().certificate, certificate).unwrap();
        fs::write(self.files().key, key).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A pair that is valid for the two years given.
fn pair(from: i32, to: i32) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(to, 1, 1);
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn borrow((certificate, key): &(String, String)) -> (&str, &str) {
    (certificate, key)
}

fn start(folder: &Folder, metrics: &Metrics) -> Result<Rotation, BadPair> {
    let clock = Clock::starting_at("2026-11-18T00:00:00Z".parse().unwrap());
    Rotation::start(folder.files(), clock, TlsMetrics::register(metrics))
}

fn refusal(folder: &Folder) -> String {
    start(folder, &Metrics::default())
        .err()
        .expect("it started")
        .to_string()
}

#[tokio::test]
async fn a_missing_file_is_named_with_the_flag_that_points_elsewhere() {
    let folder = Folder::new("missing");
    let said = refusal(&folder);
    assert!(
        said.contains("tls.crt") && said.contains("--tls-cert") && said.contains("No such file"),
        "{said}"
    );
    fs::write(folder.files().certificate, pair(2026, 2027).0).unwrap();
    let said = refusal(&folder);
    assert!(
        said.contains("tls.key") && said.contains("--tls-key"),
        "{said}"
    );
}

#[tokio::test]
async fn an_expired_certificate_refuses_to_start_and_says_since_when() {
    let folder = Folder::new("expired");
    folder.write(borrow(&pair(2020, 2021)));
    let said = refusal(&folder);
    assert!(
        said.contains("tls.crt")
            && said.contains("expired at 2021-01-01T00:00:00Z")
            && said.contains("renew"),
        "{said}"
    );
}

#[tokio::test]
async fn files_that_hold_something_else_are_named() {
    let folder = Folder::new("garbage");
    let (certificate, key) = pair(2026, 2027);
    folder.write(("hello", &key));
    assert!(refusal(&folder).contains("tls.crt holds no PEM certificate"));
    folder.write((&certificate, "hello"));
    assert!(refusal(&folder).contains("tls.key holds no PEM private key"));
    folder.write((&certificate, &certificate));
    assert!(refusal(&folder).contains("tls.key holds no PEM private key"));
    folder.write((
        "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n",
        &key,
    ));
    assert!(refusal(&folder).contains("not an X.509 certificate"));
    folder.write((&certificate, &pair(2026, 2027).1));
    let said = refusal(&folder);
    assert!(said.contains("do not belong together"), "{said}");
}

#[tokio::test]
async fn a_new_pair_is_served_and_its_expiry_shown() {
    let folder = Folder::new("renewed");
    let metrics = Metrics::default();
    folder.write(borrow(&pair(2026, 2027)));
    let mut rotation = start(&folder, &metrics).unwrap();
    let before = rotation.config().get_inner();
    folder.write(borrow(&pair(2026, 2028)));
    rotation.look();
    assert!(!std::sync::Arc::ptr_eq(
        &before,
        &rotation.config().get_inner()
    ));
    assert_eq!(
        rotation.validity().not_after.to_string(),
        "2028-01-01T00:00:00Z"
    );
    let text = metrics.text();
    assert!(
        text.contains("joiner_tls_certificate_expiry_timestamp_seconds 1830297600\n"),
        "{text}"
    );
    assert!(
        text.contains("joiner_tls_certificate_reloads_total{result=\"swapped\"} 1\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_pair_that_cannot_be_served_keeps_the_old_one_and_is_reported_once() {
    let (first, second) = (pair(2026, 2027), pair(2026, 2027));
    let bad = [
        ("mismatched", (second.0.clone(), first.1.clone())),
        ("expired-new", pair(2020, 2021)),
        (
            "half-written",
            (second.0[..200].to_owned(), second.1.clone()),
        ),
        ("emptied", (String::new(), String::new())),
    ];
    for (name, bad) in bad {
        let folder = Folder::new(name);
        let metrics = Metrics::default();
        folder.write(borrow(&first));
        let mut rotation = start(&folder, &metrics).unwrap();
        let before = rotation.config().get_inner();
        folder.write(borrow(&bad));
        rotation.look();
        rotation.look();
        assert!(
            std::sync::Arc::ptr_eq(&before, &rotation.config().get_inner()),
            "{name}"
        );
        assert!(
            metrics
                .text()
                .contains("reloads_total{result=\"kept\"} 1\n"),
            "{name}"
        );
        folder.write(borrow(&second));
        rotation.look();
        assert!(
            !std::sync::Arc::ptr_eq(&before, &rotation.config().get_inner()),
            "{name}: the good pair after it was not taken"
        );
    }
}

#[tokio::test]
async fn files_that_vanish_keep_the_old_pair() {
    let folder = Folder::new("vanished");
    folder.write(borrow(&pair(2026, 2027)));
    let mut rotation = start(&folder, &Metrics::default()).unwrap();
    let before = rotation.config().get_inner();
    fs::remove_file(folder.files().key).unwrap();
    rotation.look();
    assert!(std::sync::Arc::ptr_eq(
        &before,
        &rotation.config().get_inner()
    ));
}

#[tokio::test(start_paused = true)]
async fn a_certificate_from_the_future_waits_until_its_time_has_come() {
    let folder = Folder::new("future");
    folder.write(borrow(&pair(2026, 2030)));
    let mut rotation = start(&folder, &Metrics::default()).unwrap();
    let before = rotation.config().get_inner();
    folder.write(borrow(&pair(2027, 2031)));
    rotation.look();
    assert!(std::sync::Arc::ptr_eq(
        &before,
        &rotation.config().get_inner()
    ));
    tokio::time::advance(std::time::Duration::from_hours(60 * 24)).await;
    rotation.look();
    assert_eq!(
        rotation.validity().not_after.to_string(),
        "2031-01-01T00:00:00Z"
    );
}
