//! How does a test call a cloud through any of its fronts?

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use emulators::fronts::axum::Served;
use emulators::fronts::engine::{Clock, Engine};
use emulators::fronts::inprocess::{Broken, InProcess};
use emulators::machine::Effect;
use emulators::openstack::{Access, OpenStack, Settings, default_world};
use http::{Request, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use wiremock::MockServer;

/// The call ended without a whole answer.
pub(crate) type Lost = &'static str;

pub(crate) struct Door {
    way: Way,
    pub engine: Arc<Engine<OpenStack>>,
    pub access: Access,
    pub booted: tokio::sync::mpsc::UnboundedReceiver<Effect>,
}

enum Way {
    Call(InProcess<OpenStack>, tokio::task::JoinHandle<()>),
    Mock(MockServer),
    Served(Served),
}

pub(crate) fn quick() -> Settings {
    Settings {
        schedule_ms: 5,
        build_ms: 40,
        delete_ms: 20,
        deleted_ms: 20,
        reboot_ms: 20,
        ..Settings::default()
    }
}

fn engine(
    settings: Settings,
    clock: Clock,
) -> (
    Arc<Engine<OpenStack>>,
    Access,
    tokio::sync::mpsc::UnboundedReceiver<Effect>,
) {
    let (world, access) = default_world(7, clock.now());
    let (hand, booted) = emulators::boot::kubelet::hand();
    (
        Engine::new(OpenStack::new(world, settings, 7), clock, hand),
        access,
        booted,
    )
}

impl Door {
    pub(crate) fn in_process(settings: Settings) -> Self {
        let clock = Clock::tokio("2026-11-18T00:00:00Z".parse().unwrap());
        let (engine, access, booted) = engine(settings, clock);
        let time = tokio::spawn(Arc::clone(&engine).keep_time());
        Self {
            way: Way::Call(InProcess::new(Arc::clone(&engine)), time),
            engine,
            access,
            booted,
        }
    }

    pub(crate) async fn mock(settings: Settings) -> Self {
        let (engine, access, booted) = engine(settings, Clock::Wall);
        let server = MockServer::start().await;
        emulators::fronts::wiremock::mount(&server, Arc::clone(&engine)).await;
        Self {
            way: Way::Mock(server),
            engine,
            access,
            booted,
        }
    }

    pub(crate) async fn served(settings: Settings) -> Self {
        let (engine, access, booted) = engine(settings, Clock::Wall);
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let served = emulators::fronts::axum::serve(any, Arc::clone(&engine))
            .await
            .unwrap();
        Self {
            way: Way::Served(served),
            engine,
            access,
            booted,
        }
    }

    pub(crate) async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Response<Bytes>, Lost> {
        match &self.way {
            Way::Call(front, _) => {
                let mut request = Request::builder()
                    .method(method)
                    .uri(path)
                    .header("host", "cloud");
                for (name, value) in headers {
                    request = request.header(*name, *value);
                }
                let answer = front
                    .call(request.body(Bytes::from(body.to_owned())).unwrap())
                    .await;
                answer.map_err(|broken| match broken {
                    Broken::Refused => "refused",
                    Broken::Reset => "reset",
                    Broken::Truncated => "truncated",
                })
            }
            Way::Mock(server) => over_socket(*server.address(), method, path, headers, body).await,
            Way::Served(served) => over_socket(served.addr, method, path, headers, body).await,
        }
    }

    /// As the user of the seeded project; the token is fetched for each call.
    pub(crate) async fn nova(
        &self,
        method: &str,
        path: &str,
        body: Value,
    ) -> Result<(u16, Value), Lost> {
        let token = self.sign_in().await.unwrap();
        let headers = [
            ("x-auth-token", token.as_str()),
            ("content-type", "application/json"),
            ("openstack-api-version", "compute 2.79"),
        ];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self
            .call(method, &format!("/compute/v2.1{path}"), &headers, &body)
            .await?;
        Ok((
            answer.status().as_u16(),
            serde_json::from_slice(answer.body()).unwrap_or_default(),
        ))
    }

    pub(crate) async fn sign_in(&self) -> Result<String, Lost> {
        let user = json!({"name": self.access.user, "password": self.access.password, "domain": {"name": "Default"}});
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"id": self.access.project_id}},
        }});
        let answer = self
            .call("POST", "/identity/v3/auth/tokens", &[], &body.to_string())
            .await?;
        Ok(answer.headers()["x-subject-token"]
            .to_str()
            .unwrap()
            .to_owned())
    }

    pub(crate) async fn admin(&self, method: &str, path: &str, body: Value) -> Value {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = self
            .call(method, &format!("/admin/{path}"), &[], &body)
            .await
            .unwrap();
        assert_eq!(answer.status(), 200, "{:?}", answer.body());
        serde_json::from_slice(answer.body()).unwrap()
    }

    /// A body that creates a server, with ids of the seeded world.
    pub(crate) fn order(&self, name: &str) -> Value {
        self.engine.with(|cloud| {
            let flavor = cloud
                .world
                .flavors
                .iter()
                .find(|flavor| flavor.name == "m1.medium")
                .unwrap();
            let network = cloud
                .world
                .networks
                .values()
                .find(|network| network["name"] == "storage")
                .unwrap();
            json!({"server": {
                "name": name, "flavorRef": flavor.id, "imageRef": cloud.world.images[0]["id"],
                "networks": [{"uuid": network["id"]}], "tags": [format!("claim={name}")],
            }})
        })
    }

    pub(crate) async fn until(&self, id: &str, status: &str) -> Value {
        for _ in 0..2000 {
            let (code, body) = self
                .nova("GET", &format!("/servers/{id}"), Value::Null)
                .await
                .unwrap();
            if body["server"]["status"] == status || (code == 404 && status == "gone") {
                return body["server"].clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{id} never became {status}");
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Way::Call(_, time) = &self.way {
            time.abort();
        }
    }
}

/// A client as small as it can be: one request, then the connection is done.
async fn over_socket(
    addr: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<Response<Bytes>, Lost> {
    let mut stream = TcpStream::connect(addr).await.map_err(|_| "refused")?;
    let headers: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let headers = headers.concat();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream
        .write_all(head.as_bytes())
        .await
        .map_err(|_| "reset")?;
    stream
        .write_all(body.as_bytes())
        .await
        .map_err(|_| "reset")?;
    let mut bytes = Vec::new();
    let ended = stream.read_to_end(&mut bytes).await;
    let at = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .ok_or("reset")?;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let mut lines = head.lines();
    let status: u16 = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let mut response = Response::builder().status(status);
    let mut length = None;
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse::<usize>().ok();
        }
        response = response.header(name, value);
    }
    let body = Bytes::from(bytes.split_off(at + 4));
    if ended.is_err() || length.is_some_and(|length| length != body.len()) {
        return Err("truncated");
    }
    Ok(response.body(body).unwrap())
}
