//! Does user data say what it should, and nothing a value could add?

use super::*;
use proptest::prelude::*;
use rstest::rstest;
use secrecy::ExposeSecret;
use serde_json::Value;

const CA: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

fn join() -> Join {
    Join {
        endpoint: "https://10.0.0.1:6443".into(),
        ca_pem: CA.into(),
        token: "abcdef.0123456789abcdef".into(),
        node_name: Expression::literal("np1-x7k2p"),
        provider_id: Expression::instance_id_after("openstack:///"),
        labels: BTreeMap::from([("team".into(), "web".into())]),
        taints: vec![planner::Taint::new(
            "dedicated",
            "gpu",
            planner::Effect::NoSchedule,
        )],
        kubelet: Kubelet::default(),
        before: vec![],
        after: vec![],
    }
}

fn text(join: Join, own: Option<Own>) -> Result<String, BadBootstrap> {
    let preset = Preset::Kubelet(Box::new(join));
    let data = render(&Bootstrap { preset, own })?;
    Ok(data.secret().expose_secret().to_owned())
}

/// What cloud-init would make of it on the machine `i-1`: the template first, then the YAML.
fn boot(user_data: &str) -> Value {
    let rest = user_data.strip_prefix("## template: jinja\n").unwrap();
    let rendered = rest
        .replace("{{ v1.instance_id }}", "i-1")
        .replace("{{ '{' }}", "\u{1}");
    assert!(
        !rendered.contains('{'),
        "a value opened an expression: {rendered}"
    );
    serde_saphyr::from_str(&rendered.replace('\u{1}', "{")).unwrap()
}

fn file<'a>(config: &'a Value, path: &str) -> &'a str {
    let files = config["write_files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == path).unwrap();
    file["content"].as_str().unwrap()
}

fn flags(config: &Value) -> Vec<String> {
    let line = file(config, "/etc/kubernetes/kubelet.env").trim_end();
    let words = line
        .strip_prefix("KUBELET_EXTRA_ARGS=\"")
        .unwrap()
        .strip_suffix('"')
        .unwrap();
    words.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_machine_gets_a_join_file_and_the_kubelets_flags() {
    let config = boot(&text(join(), None).unwrap());
    let kubeconfig: Value =
        serde_saphyr::from_str(file(&config, "/etc/kubernetes/bootstrap-kubelet.conf")).unwrap();
    assert_eq!(
        kubeconfig["clusters"][0]["cluster"]["server"],
        "https://10.0.0.1:6443"
    );
    assert_eq!(
        kubeconfig["users"][0]["user"]["token"],
        "abcdef.0123456789abcdef"
    );
    assert_eq!(
        flags(&config),
        [
            "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
            "--kubeconfig=/var/lib/kubelet/kubeconfig",
            "--hostname-override=np1-x7k2p",
            "--provider-id=openstack:///i-1",
            "--node-labels=team=web",
            "--register-with-taints=karpenter.sh/unregistered:NoExecute,dedicated=gpu:NoSchedule",
        ]
    );
    assert_eq!(config["runcmd"][0][0], "systemctl");
}

#[test]
fn settings_of_the_class_become_flags() {
    let kubelet = Kubelet {
        max_pods: Some(50),
        kube_reserved: BTreeMap::from([
            ("cpu".into(), "100m".into()),
            ("memory".into(), "1Gi".into()),
        ]),
        eviction_hard: BTreeMap::from([("memory.available".into(), "5%".into())]),
        cluster_dns: vec!["10.96.0.10".into()],
        ..Kubelet::default()
    };
    let flags = flags(&boot(&text(Join { kubelet, ..join() }, None).unwrap())).join(" ");
    for flag in [
        "--max-pods=50",
        "--kube-reserved=cpu=100m,memory=1Gi",
        "--eviction-hard=memory.available<5%",
        "--cluster-dns=10.96.0.10",
    ] {
        assert!(flags.contains(flag), "{flag} is not in {flags}");
    }
}

#[test]
fn a_label_the_kubelet_may_not_give_itself_is_left_to_registration() {
    let labels = BTreeMap::from([
        ("kubernetes.io/cluster-service".into(), "true".into()),
        ("topology.kubernetes.io/zone".into(), "az-a".into()),
        ("karpenter.sh/nodepool".into(), "np1".into()),
    ]);
    let config = boot(&text(Join { labels, ..join() }, None).unwrap());
    let flag = flags(&config)
        .into_iter()
        .find(|flag| flag.starts_with("--node-labels"));
    assert_eq!(
        flag.unwrap(),
        "--node-labels=karpenter.sh/nodepool=np1,topology.kubernetes.io/zone=az-a"
    );
}

#[test]
fn no_value_breaks_out_of_the_template() {
    let hostile = "{{ v1.local_hostname }}{% for x in y %}{# z #}";
    let provider_id = Expression::literal("{{v1.secret}}");
    let before = vec![hostile.to_owned(), "echo \"a\"\n- echo b".to_owned()];
    let config = boot(
        &text(
            Join {
                provider_id,
                before,
                ..join()
            },
            None,
        )
        .unwrap(),
    );
    assert!(flags(&config).contains(&"--provider-id={{v1.secret}}".to_owned()));
    assert_eq!(config["runcmd"][0], hostile);
    assert_eq!(config["runcmd"][1], "echo \"a\"\n- echo b");
}

#[rstest]
#[case("a\nruncmd: [evil]")]
#[case("a b")]
#[case("a\" --evil=\"1")]
#[case("a\u{2028}b")]
#[case("$(evil)")]
#[case("")]
fn no_value_breaks_out_of_its_line(#[case] hostile: &str) {
    let bad = |join| text(join, None).unwrap_err().field;
    assert_eq!(
        bad(Join {
            endpoint: format!("https://{hostile}\n"),
            ..join()
        }),
        "endpoint"
    );
    assert_eq!(
        bad(Join {
            token: hostile.into(),
            ..join()
        }),
        "token"
    );
    assert_eq!(
        bad(Join {
            node_name: Expression::literal(hostile),
            ..join()
        }),
        "node name"
    );
    if !hostile.is_empty() {
        let labels = BTreeMap::from([("team".into(), hostile.into())]);
        assert_eq!(bad(Join { labels, ..join() }), "label team");
        let taints = vec![planner::Taint::new(
            "t",
            hostile,
            planner::Effect::NoSchedule,
        )];
        assert_eq!(bad(Join { taints, ..join() }), "taint t");
    }
}

#[test]
fn the_users_part_is_appended_without_replacing_ours() {
    let own = |merge| Own {
        text: "#cloud-config\nwrite_files: []\n".into(),
        merge,
    };
    let both = text(join(), Some(own(Merge::Append))).unwrap();
    assert!(both.starts_with("Content-Type: multipart/mixed; boundary=\"joiner-part-0\""));
    assert_eq!(both.matches("--joiner-part-0").count(), 3);
    let (ours, theirs) = (
        both.find("text/jinja2").unwrap(),
        both.find("text/cloud-config").unwrap(),
    );
    assert!(ours < theirs && both.contains("Merge-Type: list(append)"));
    let alone = text(join(), Some(own(Merge::Replace))).unwrap();
    assert_eq!(alone, "#cloud-config\nwrite_files: []\n");
}

#[test]
fn a_users_part_that_contains_our_boundary_stays_one_part() {
    let own = Own {
        text: "#!/bin/sh\necho --joiner-part-0\n".into(),
        merge: Merge::Append,
    };
    let both = text(join(), Some(own)).unwrap();
    assert_eq!(both.matches("--joiner-part-1").count(), 3);
}

#[test]
fn what_cannot_be_appended_or_is_missing_says_what_to_do() {
    let own = Own {
        text: "hello".into(),
        merge: Merge::Append,
    };
    assert!(
        text(join(), Some(own))
            .unwrap_err()
            .to_string()
            .contains("bootstrap.merge to Replace")
    );
    let nothing = render(&Bootstrap {
        preset: Preset::UserData,
        own: None,
    })
    .unwrap_err();
    assert_eq!(nothing.field, "userData");
}

#[test]
fn user_data_never_prints_itself() {
    let shown = format!("{:?}", UserData::new("canary"));
    assert!(!shown.contains("canary"), "{shown}");
}

proptest! {
    #[test]
    fn whatever_the_values_the_machine_reads_them_back(name in "[ -~]{1,20}", command in "\\PC{0,40}") {
        let given = Join { node_name: Expression::literal(&name), before: vec![command.clone()], ..join() };
        if let Ok(text) = text(given, None) {
            let config = boot(&text);
            prop_assert_eq!(&config["runcmd"][0], &Value::from(command));
            let expected = format!("--hostname-override={name}");
            prop_assert!(flags(&config).contains(&expected));
        }
    }
}
