//! Which servers are there, page by page, the newest first?

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::super::OpenStack;
use super::super::errors;
use super::super::nova::{Call, denied};
use super::super::wire::{Outcome, Refusal, Said};
use super::super::world::Server;
use super::filter::{self, Filter};
use super::show;

impl OpenStack {
    pub(super) fn list_servers(&self, call: &Call, detail: bool) -> Outcome {
        if call
            .ask
            .param("all_tenants")
            .is_some_and(|text| text != "0" && !text.eq_ignore_ascii_case("false"))
        {
            let action = if detail {
                "servers:detail:get_all_tenants"
            } else {
                "servers:index:get_all_tenants"
            };
            return Err(denied(action));
        }
        let filter = Filter::read(call, self.settings.ignore_tag_filters)?;
        if self.settings.cell_down && (!filter.is_empty() || call.version < 69) {
            return Ok(Said::json(200, json!({"servers": []})));
        }
        let servers = self.page_of_servers(call, &filter)?;
        let (page, next) = servers;
        let shown: Vec<Value> = page
            .iter()
            .map(|server| {
                if self.settings.cell_down {
                    return show::unknown(call, server, false);
                }
                if !detail {
                    let links = call.link(&format!("servers/{}", server.id));
                    return json!({"id": server.id, "name": server.name, "links": links});
                }
                let mut shown = self.show(call, server);
                if let Some(trouble) = server
                    .trouble
                    .as_ref()
                    .filter(|trouble| !trouble.hidden_in_lists)
                {
                    shown["fault"] = show::trouble(trouble);
                }
                shown
            })
            .collect();
        let mut body = json!({"servers": shown});
        if let Some(next) = next {
            body["servers_links"] = next;
        }
        Ok(Said::json(200, body))
    }

    fn page_of_servers(
        &self,
        call: &Call,
        filter: &Filter,
    ) -> Result<(Vec<&Server>, Option<Value>), Refusal> {
        let lag = i64::try_from(self.settings.list_lag_ms).unwrap_or(i64::MAX);
        let own = self
            .world
            .servers
            .values()
            .chain(self.world.past.values())
            .filter(|server| server.project == call.caller.project());
        let mut sorted: Vec<&Server> = own.collect();
        let key = call.ask.param("sort_key").unwrap_or("created_at");
        let up = call.ask.param("sort_dir") == Some("asc");
        sorted.sort_by(|one, two| {
            let order = compare(one, two, key);
            if up { order } else { order.reverse() }
        });
        // a marker may be any server that ever was, so it is looked up before the filter
        let from = match call.ask.param("marker") {
            None => 0,
            Some(marker) => {
                let at = sorted.iter().position(|server| server.id == marker);
                at.ok_or_else(|| errors::nova(400, format!("marker [{marker}] not found")))? + 1
            }
        };
        let taken = sorted.into_iter().skip(from).filter(|server| {
            let age = call.ask.now.duration_since(server.created).as_millis();
            filter::listed(server, filter) && filter.takes(server) && age >= i128::from(lag)
        });
        let unmarked = Call {
            ask: &without_marker(call),
            version: call.version,
            caller: call.caller.clone(),
        };
        unmarked.page(
            taken.collect(),
            |server| &server.id,
            self.settings.page_limit,
        )
    }
}

/// The rest of the list was cut off already; paging must not look for the marker again.
fn without_marker<'a>(call: &Call<'a>) -> super::super::wire::Ask<'a> {
    let ask = call.ask;
    let query = ask.query.iter().filter(|(key, _)| key != "marker").cloned();
    super::super::wire::Ask {
        method: ask.method,
        path: ask.path.clone(),
        query: query.collect(),
        headers: ask.headers,
        body: ask.body,
        base: ask.base.clone(),
        now: ask.now,
        request_id: ask.request_id.clone(),
        fates: Vec::new(),
    }
}

fn compare(one: &Server, two: &Server, key: &str) -> Ordering {
    let order = match key {
        "display_name" | "name" => one.name.cmp(&two.name),
        "uuid" | "id" => one.id.cmp(&two.id),
        "updated_at" => one.updated.cmp(&two.updated),
        _ => Ordering::Equal,
    };
    order.then(one.seq.cmp(&two.seq))
}
