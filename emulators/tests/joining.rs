//! Does a server of the emulated cloud become a node of the embedded Kubernetes, carry pods, and end with them?
//!
//! One process, virtual time: what the simulation does.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use emulators::boot::embedded::{self, Embedded};
use emulators::fronts::engine::{Clock, Ending, Engine};
use emulators::fronts::inprocess::InProcess;
use emulators::kubernetes::cast::Cast;
use emulators::kubernetes::kubelet::Door;
use emulators::kubernetes::users::User;
use emulators::openstack::{Access, OpenStack, Settings, default_world};
use http::Request;
use serde_json::{Value, json};

const TOKEN: (&str, &str) = ("abcdef", "0123456789abcdef");

struct Place {
    cluster: Embedded,
    cloud: InProcess<OpenStack>,
    access: Access,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

fn place() -> Place {
    let clock = Clock::tokio("2026-11-18T00:00:00Z".parse().unwrap());
    let door = Door {
        ca: Some("CA-PEM".into()),
        endpoints: vec!["https://api:6443".into()],
    };
    let cast = Cast {
        door,
        ..Cast::default()
    };
    let cluster = Embedded::new(7, clock, &cast);
    let (hand, lines) = cluster.hand();
    let (world, access) = default_world(7, clock.now());
    let engine = Engine::new(OpenStack::new(world, Settings::default(), 7), clock, hand);
    let tasks = vec![
        tokio::spawn(Arc::clone(&cluster.engine).keep_time()),
        tokio::spawn(Arc::clone(&engine).keep_time()),
        tokio::spawn(embedded::show(Arc::clone(&engine), lines)),
    ];
    Place {
        cluster,
        cloud: InProcess::new(engine),
        access,
        tasks,
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

impl Place {
    /// As the administrator of the cluster.
    async fn api(&self, method: &str, path: &str, body: &Value) -> Value {
        let kind = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let body = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind)
            .extension(User::admin());
        let ending = self.cluster.engine.call(&request.body(body).unwrap()).await;
        let Ending::Answer(response) = ending else {
            panic!("{method} {path}: {ending:?}")
        };
        let answer: Value = serde_json::from_slice(response.body()).unwrap();
        assert!(response.status().is_success(), "{method} {path}: {answer}");
        answer
    }

    async fn nova(&self, method: &str, path: &str, body: &Value) -> Value {
        let user = json!({"name": self.access.user, "password": self.access.password, "domain": {"name": "Default"}});
        let login = Request::post("/identity/v3/auth/tokens").header("host", "cloud");
        let login_body = Bytes::from(login_text(&user, &self.access.project_id));
        let answer = self
            .cloud
            .call(login.body(login_body).unwrap())
            .await
            .unwrap();
        let token = answer.headers()["x-subject-token"].clone();
        let request = Request::builder()
            .method(method)
            .uri(format!("/compute/v2.1{path}"))
            .header("host", "cloud")
            .header("content-type", "application/json")
            .header("openstack-api-version", "compute 2.79")
            .header("x-auth-token", token);
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self
            .cloud
            .call(request.body(Bytes::from(body)).unwrap())
            .await;
        serde_json::from_slice(answer.unwrap().body()).unwrap_or_default()
    }

    async fn launch(&self, name: &str, user_data: Option<String>) -> String {
        let mut order = self.cloud.engine().with(|cloud| {
            let mut flavors = cloud.world.flavors.iter();
            let flavor = flavors.find(|flavor| flavor.name == "m1.medium").unwrap();
            let mut networks = cloud.world.networks.values();
            let network = networks
                .find(|network| network["name"] == "storage")
                .unwrap();
            json!({"server": {
                "name": name, "flavorRef": flavor.id, "imageRef": cloud.world.images[0]["id"],
                "networks": [{"uuid": network["id"]}],
            }})
        });
        if let Some(user_data) = user_data {
            order["server"]["user_data"] = user_data.into();
        }
        let made = self.nova("POST", "/servers", &order).await;
        made["server"]["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{made}"))
            .to_owned()
    }

    async fn phases(&self) -> Vec<String> {
        let pods = self
            .api("GET", "/api/v1/namespaces/default/pods", &Value::Null)
            .await;
        let pods = pods["items"].as_array().unwrap().clone();
        pods.iter()
            .map(|pod| pod["status"]["phase"].as_str().unwrap().to_owned())
            .collect()
    }

    fn console(&self, server: &str) -> String {
        let engine = self.cloud.engine();
        engine.with(|cloud| cloud.world.servers[server].console.clone())
    }
}

fn login_text(user: &Value, project: &str) -> String {
    json!({"auth": {
        "identity": {"methods": ["password"], "password": {"user": user}},
        "scope": {"project": {"id": project}},
    }})
    .to_string()
}

#[allow(clippy::unnecessary_wraps)] // user data is optional, and a case without it stands beside
fn user_data(secret: &str) -> Option<String> {
    let (ca, id) = (STANDARD.encode("CA-PEM"), TOKEN.0);
    Some(STANDARD.encode(format!(
        r#"## template: jinja
#cloud-config
write_files:
- path: /etc/kubernetes/bootstrap-kubelet.conf
  content: |
    clusters: [{{name: c, cluster: {{server: "https://api:6443", certificate-authority-data: "{ca}"}}}}]
    contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
    current-context: x
    users: [{{name: u, user: {{token: {id}.{secret}}}}}]
- path: /etc/kubernetes/kubelet.env
  content: |
    KUBELET_EXTRA_ARGS="--provider-id=openstack:///{{{{ v1.instance_id }}}}"
"#
    )))
}

fn token() -> Value {
    let encoded = |text: &str| STANDARD.encode(text);
    json!({"metadata": {"name": format!("bootstrap-token-{}", TOKEN.0)}, "type": "bootstrap.kubernetes.io/token",
        "data": {"token-id": encoded(TOKEN.0), "token-secret": encoded(TOKEN.1),
            "usage-bootstrap-authentication": encoded("true")}})
}

fn web() -> Value {
    let container = json!({"name": "c", "image": "x", "resources": {"requests": {"cpu": "500m"}}});
    json!({"metadata": {"name": "web"}, "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}}})
}

async fn seconds(count: u64) {
    tokio::time::sleep(Duration::from_secs(count)).await;
}

/// What a whole run looked like, with every name in it.
async fn run() -> String {
    let place = place();
    place
        .api("POST", "/api/v1/namespaces/kube-system/secrets", &token())
        .await;
    place
        .api(
            "POST",
            "/apis/apps/v1/namespaces/default/deployments",
            &web(),
        )
        .await;
    seconds(1).await;
    assert_eq!(place.phases().await, ["Pending"; 3]);
    let server = place.launch("pool-1", user_data(TOKEN.1)).await;
    seconds(60).await;
    let node = place.api("GET", "/api/v1/nodes/pool-1", &Value::Null).await;
    assert_eq!(node["spec"]["providerID"], format!("openstack:///{server}"));
    assert_eq!(
        place.phases().await,
        ["Running"; 3],
        "{}",
        place.console(&server)
    );
    let pods = place
        .api("GET", "/api/v1/namespaces/default/pods", &Value::Null)
        .await;
    let zero = json!({"spec": {"replicas": 0}});
    place
        .api(
            "PATCH",
            "/apis/apps/v1/namespaces/default/deployments/web/scale",
            &zero,
        )
        .await;
    seconds(5).await;
    assert!(place.phases().await.is_empty());
    place
        .nova("DELETE", &format!("/servers/{server}"), &Value::Null)
        .await;
    seconds(90).await;
    let node = place.api("GET", "/api/v1/nodes/pool-1", &Value::Null).await;
    let mut conditions = node["status"]["conditions"].as_array().unwrap().iter();
    let ready = conditions
        .find(|condition| condition["type"] == "Ready")
        .unwrap();
    assert_eq!(
        ready["status"], "Unknown",
        "a halted machine still renews its lease"
    );
    pods.to_string()
}

#[tokio::test(start_paused = true)]
async fn pending_pods_run_on_a_server_that_joined_and_are_gone_after_scaling_to_zero_each_time_the_same()
 {
    assert_eq!(run().await, run().await);
}

#[tokio::test(start_paused = true)]
async fn a_server_with_a_wrong_token_joins_nothing_and_its_console_says_why() {
    let place = place();
    place
        .api("POST", "/api/v1/namespaces/kube-system/secrets", &token())
        .await;
    let server = place.launch("pool-1", user_data("ffffffffffffffff")).await;
    let empty = place.launch("pool-2", None).await;
    seconds(60).await;
    let nodes = place.api("GET", "/api/v1/nodes", &Value::Null).await;
    assert_eq!(nodes["items"], json!([]));
    let console = place.console(&server);
    assert!(
        console.contains("does not accept bootstrap token \"abcdef\""),
        "{console}"
    );
    assert!(!console.contains("ffffffffffffffff"), "{console}");
    let console = place.console(&empty);
    assert!(console.contains("no user data"), "{console}");
}

#[tokio::test(start_paused = true)]
async fn the_cluster_tells_where_it_is_and_whom_to_trust() {
    let place = place();
    let path = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
    let told = place.api("GET", path, &Value::Null).await;
    let kubeconfig = told["data"]["kubeconfig"].as_str().unwrap();
    assert!(
        kubeconfig.contains("server: https://api:6443"),
        "{kubeconfig}"
    );
}
