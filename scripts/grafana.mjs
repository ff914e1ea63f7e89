// The Grafana dashboard for the metrics in docs/metrics.md. `npm run gen` writes the dashboard to
// deploy/monitoring/grafana/chat-bridge.json.

const DATASOURCE = { type: "prometheus", uid: "${datasource}" };
const COLUMNS = 24;
const PANEL_HEIGHT = 8;

const by = (labels) => (labels === "" ? "sum" : `sum by (${labels}) `);
/** The sum of a gauge over all processes. */
const sum = (metric) => `sum(${metric})`;
/** The per-second increase of a counter, summed by labels. */
const rate = (labels, metric) => `${by(labels)}(rate(${metric}[$__rate_interval]))`;
/** The increase of a counter within `time`. */
const increase = (time, metric) => `sum(increase(${metric}[${time}]))`;
/** A quantile of a histogram for each set of `labels`. */
const quantile = (q, labels, metric) =>
  `histogram_quantile(${q}, ${rate(["le", labels].filter(Boolean).join(", "), `${metric}_bucket`)})`;

/** A chart with one line for each pair of a legend and an expression. The width is in columns. */
const panel = (title, unit, width, lines) => ({ title, unit, width, lines });

const PANELS = [
  { row: "Bridges" },
  panel("Requests by answer", "reqps", 8, [
    ["{{endpoint}} {{status}}", rate("endpoint, status", "chatbridge_edge_requests_total")],
  ]),
  panel("Response time", "s", 8, [
    ["{{endpoint}} p50", quantile(0.5, "endpoint", "chatbridge_edge_request_duration_seconds")],
    ["{{endpoint}} p99", quantile(0.99, "endpoint", "chatbridge_edge_request_duration_seconds")],
  ]),
  panel("Rejected and unanswered", "reqps", 8, [
    [
      "{{call}} {{answer}}",
      rate("call, answer", 'chatbridge_core_answers_total{answer!~"stored|repeated|page"}'),
    ],
    ["rejected by the edge (address limit)", rate("", "chatbridge_edge_shield_refusals_total")],
    ["rejected by the edge, not reported", rate("", "chatbridge_edge_refusals_unreported_total")],
    ["closed connections: {{bound}}", rate("bound", "chatbridge_edge_connections_refused_total")],
    ["no answer: {{reason}}", rate("reason", "chatbridge_edge_lane_failures_total")],
  ]),
  { row: "Between edge and core" },
  panel("Calls in progress", "short", 8, [
    ["at the edges", sum("chatbridge_edge_lane_calls")],
    ["at the cores", sum("chatbridge_core_lane_calls")],
  ]),
  panel("Pending bytes", "bytes", 8, [
    ["at the edges", sum("chatbridge_edge_lane_bytes")],
    ["at the cores", sum("chatbridge_core_lane_bytes")],
    ["push queues", sum("chatbridge_core_push_queue_bytes")],
    ["pushes in core", sum("chatbridge_core_push_in_hand_bytes")],
    ["unsent pages", sum("chatbridge_edge_unsent_page_bytes")],
    ["unsent answers", sum("chatbridge_core_lane_answer_bytes")],
    ["PublishEvents calls", sum("chatbridge_core_publishing_bytes")],
  ]),
  panel("Streams", "short", 8, [
    ["open at the edges", sum("chatbridge_edge_lanes")],
    ["open at the cores", sum("chatbridge_core_lanes")],
    ["opened in 5 minutes", increase("5m", "chatbridge_edge_lanes_opened_total")],
  ]),
  { row: "Redis" },
  panel("p99 of calls by function", "s", 8, [
    ["{{function}}", quantile(0.99, "function", "chatbridge_core_store_call_duration_seconds")],
  ]),
  panel("Mean batch size by function", "short", 8, [
    [
      "{{function}}",
      "sum by (function) (rate(chatbridge_core_store_batch_size_sum[$__rate_interval])) / sum by (function) (rate(chatbridge_core_store_batch_size_count[$__rate_interval]))",
    ],
  ]),
  panel("Failures and connections", "short", 8, [
    [
      "no answer: {{function}}",
      "sum by (function) (increase(chatbridge_core_store_call_failures_total[5m]))",
    ],
    ["connections made in 5 minutes", increase("5m", "chatbridge_core_redis_connections_total")],
    ["connections lost in 5 minutes", increase("5m", "chatbridge_core_redis_connection_faults_total")],
    ["sequences ahead of the clock, s", "max(chatbridge_core_sequence_ahead_seconds)"],
    ["clocks of core and Redis differ, s", "max(abs(chatbridge_core_clock_difference_seconds))"],
    ["rejected because the store is full, in 5 minutes", increase("5m", "chatbridge_core_store_full_total")],
  ]),
  panel("Memory and append-only file of Redis", "bytes", 12, [
    ["{{server}}", "max by (server) (chatbridge_core_redis_memory_bytes)"],
    ["{{server}} can use (0: no limit)", "max by (server) (chatbridge_core_redis_memory_max_bytes)"],
    ["{{server}} append-only file", "max by (server) (chatbridge_core_redis_append_only_bytes)"],
  ]),
  panel("Writes to the disk (0: the last one failed)", "short", 6, [
    ["{{server}} {{step}}", "min by (server, step) (chatbridge_core_redis_persistence_ok)"],
  ]),
  panel("Age of the last backup", "s", 6, [
    ["complete", "time() - max(chatbridge_core_backup_timestamp_seconds > 0)"],
    ["failed", "time() - max(chatbridge_core_backup_failed_timestamp_seconds > 0)"],
  ]),
  { row: "Games" },
  panel("Published", "ops", 6, [["{{outcome}}", rate("outcome", "chatbridge_core_published_total")]]),
  panel("Delivered to followers", "ops", 6, [
    ["{{attempt}}", rate("attempt", "chatbridge_core_follow_deliveries_total")],
    ["dropped by {{reason}}", rate("reason", "chatbridge_core_inbound_dropped_total")],
    ["given up by {{group}}", rate("group", "chatbridge_core_follow_dead_letters_total")],
  ]),
  panel("Backlog by group", "short", 6, [
    ["{{group}} unread", "sum by (group) (chatbridge_core_follow_unread)"],
    ["{{group}} unacked", "sum by (group) (chatbridge_core_follow_unacked)"],
    ["in flight to followers", sum("chatbridge_core_follow_in_flight")],
    ["streams", sum("chatbridge_core_follow_streams")],
    ["in the inbound logs", sum("chatbridge_core_inbound_log_length")],
  ]),
  panel("Oldest unacked event by group", "s", 6, [
    ["{{group}}", "max by (group) (chatbridge_core_follow_oldest_seconds)"],
  ]),
  { row: "Pushes" },
  panel("Attempts by result", "ops", 8, [
    ["{{result}}", rate("result", "chatbridge_core_push_attempts_total")],
  ]),
  panel("Dropped by reason", "ops", 8, [["{{reason}}", rate("reason", "chatbridge_core_push_drops_total")]]),
  panel("Waiting", "short", 8, [
    ["queued", sum("chatbridge_core_push_queue_length")],
    ["waiting for a first attempt", sum("chatbridge_core_push_waiting")],
    ["in progress", sum("chatbridge_core_push_in_flight")],
  ]),
  panel("Time from publishing to first attempt", "s", 8, [
    ["p50", quantile(0.5, "", "chatbridge_core_push_wait_seconds")],
    ["p99", quantile(0.99, "", "chatbridge_core_push_wait_seconds")],
    ["oldest queued", "max(chatbridge_core_push_oldest_seconds)"],
  ]),
  panel("Duration of attempts", "s", 8, [
    ["p50", quantile(0.5, "", "chatbridge_core_push_attempt_duration_seconds")],
    ["p99", quantile(0.99, "", "chatbridge_core_push_attempt_duration_seconds")],
  ]),
  panel("Lateness of retries", "s", 8, [
    ["p99", quantile(0.99, "", "chatbridge_core_push_retry_lateness_seconds")],
  ]),
  { row: "Processes" },
  panel("Shards held", "short", 4, [
    ["{{instance}}", "chatbridge_core_shards_held"],
    ["all shards", "max(chatbridge_core_shards)"],
  ]),
  panel("Workspaces by state", "short", 4, [["{{state}}", "sum by (state) (chatbridge_core_workspaces)"]]),
  panel("Outages, emails and operator events", "short", 4, [
    ["bridges that stopped polling, 1 h", increase("1h", "chatbridge_core_outages_total")],
    ["emails waiting", sum("chatbridge_core_mail_outbox_length")],
    ["failed attempts to send an email, 1 h", increase("1h", "chatbridge_core_mail_faults_total")],
    ["emails dropped, 1 h", increase("1h", "chatbridge_core_mails_dropped_total")],
    [
      "failed operator events, 1 h",
      increase("1h", 'chatbridge_core_operator_events_total{outcome="failed"}'),
    ],
    ["operator events waiting", sum("chatbridge_core_operator_outbox_length")],
    ["operator events dropped, 1 h", increase("1h", "chatbridge_core_operator_events_dropped_total")],
  ]),
  panel("Tokens, secrets and certificates", "short", 4, [
    ["workspaces with an unreadable secret", "max(chatbridge_core_unreadable_secrets)"],
    ["unreadable files of cores", sum("chatbridge_core_unreadable_files")],
    ["unreadable files of edges", sum("chatbridge_edge_unreadable_files")],
    [
      "days until {{file}} expires",
      "min by (file) (chatbridge_core_certificate_expires_seconds - time()) / 86400",
    ],
    ["tokens, {{role}}", "max by (role) (chatbridge_core_tokens)"],
  ]),
  panel("Event loop p99", "s", 4, [["{{job}} {{instance}}", "nodejs_eventloop_lag_p99_seconds"]]),
  panel("Memory", "bytes", 4, [["{{job}} {{instance}}", "process_resident_memory_bytes"]]),
  panel("Processor", "percentunit", 4, [
    ["{{job}} {{instance}}", "rate(process_cpu_seconds_total[$__rate_interval])"],
  ]),
  panel("Processes by version", "short", 4, [
    ["{{version}} {{commit}}", "count by (version, commit) (chatbridge_build_info)"],
  ]),
];

function chart({ title, unit, lines }, id, gridPos) {
  return {
    id,
    type: "timeseries",
    title,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: {
      defaults: { unit, min: 0, custom: { lineWidth: 1, fillOpacity: 10, showPoints: "never" } },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom" },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: lines.map(([legendFormat, expr], i) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + i),
      expr,
      legendFormat,
      datasource: DATASOURCE,
    })),
  };
}

/** Puts the panels into rows from left to right. */
function place() {
  let [x, y] = [0, 0];
  return PANELS.map((each, i) => {
    const id = i + 1;
    if ("row" in each) {
      if (x > 0) y += PANEL_HEIGHT;
      const gridPos = { h: 1, w: COLUMNS, x: 0, y };
      [x, y] = [0, y + 1];
      return { id, type: "row", title: each.row, collapsed: false, gridPos, panels: [] };
    }
    if (x + each.width > COLUMNS) [x, y] = [0, y + PANEL_HEIGHT];
    const gridPos = { h: PANEL_HEIGHT, w: each.width, x, y };
    x += each.width;
    return chart(each, id, gridPos);
  });
}

/** Returns the dashboard as JSON text. */
export function grafanaDashboard() {
  const dashboard = {
    title: "Chat bridge",
    uid: "chat-bridge",
    tags: ["chat-bridge"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: "10s",
    time: { from: "now-1h", to: "now" },
    timezone: "browser",
    templating: {
      list: [
        {
          name: "datasource",
          label: "Data source",
          type: "datasource",
          query: "prometheus",
          current: {},
          hide: 0,
        },
      ],
    },
    annotations: { list: [] },
    links: [],
    panels: place(),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}
