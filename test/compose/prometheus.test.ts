import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { findPromtool } from "../programs/apt";
import { readComposeFile, ROOT } from "../harness/compose-file";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const METRICS_PAGE = read("docs/metrics.md");

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly guide: string };
}
const rules = parse(read("deploy/monitoring/prometheus/alerts.yml")) as {
  readonly groups: readonly { readonly rules: readonly Alert[] }[];
};
const alerts = rules.groups.flatMap((group) => group.rules);
const eachAlert = alerts.map((alert) => [alert.alert, alert] as const);

describe("the files of Prometheus:", () => {
  test.each([
    ["check", "config", "deploy/monitoring/prometheus/prometheus.yml"],
    ["check", "rules", "deploy/monitoring/prometheus/alerts.yml"],
    ["test", "rules", "deploy/monitoring/prometheus/alerts.test.yml"],
  ])("promtool %s %s %s succeeds", async (...args) => {
    const { status, stdout, stderr } = spawnSync(await findPromtool(), args, { cwd: ROOT, encoding: "utf8" });
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: stdout });
  });

  test("each alert has a test with values that fire the alert, and with values that do not", () => {
    const { tests } = parse(read("deploy/monitoring/prometheus/alerts.test.yml")) as {
      tests: readonly {
        promql_expr_test: readonly { readonly expr: string; readonly exp_samples: readonly object[] }[];
      }[];
    };
    const checks = tests.flatMap((each) => each.promql_expr_test);
    for (const { alert } of alerts) {
      const of = checks.filter(
        ({ expr }) => expr === `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
      );
      const firing = of.map(({ exp_samples }) => exp_samples.length);
      expect({ alert, firing }).toEqual({ alert, firing: [0, 1] });
    }
  });

  test.each(eachAlert)(
    "%s has a severity, says what to do, and names its own section of docs/alerts.md",
    (name, alert) => {
      const { summary, description, guide } = alert.annotations;
      expect(["critical", "warning", "info"]).toContain(alert.labels.severity);
      expect(summary.length).toBeGreaterThan(10);
      expect(description.length).toBeGreaterThan(summary.length);
      expect(guide).toBe(`docs/alerts.md#${name.toLowerCase()}`);
      const [, section = ""] = read("docs/alerts.md").split(`\n#### ${name}\n`);
      const [own = ""] = section.split("\n#");
      expect(own).toMatch(/^\n.{30,}(?:.|\n)*\n\n\*\*Do\*\*: .{30,}/);
    },
  );

  test("docs/alerts.md describes exactly the alerts, in the order of the rules", () => {
    const headings = [...read("docs/alerts.md").matchAll(/^#### (ChatBridge\w+)$/gm)];
    expect(headings.map(([, name]) => name)).toEqual(alerts.map(({ alert }) => alert));
  });

  test("docs/metrics.md lists exactly the alerts, with their severities and summaries", () => {
    const [, section = ""] = METRICS_PAGE.split("\n## Alerts\n");
    const rows = [...section.matchAll(/^\| `(ChatBridge\w+)` +\| (\w+) +\| (.*?) +\|$/gm)];
    const documented = rows.map(([, name, severity, summary]) => [name, severity, summary]);
    const defined = alerts.map(({ alert, labels, annotations }) => [
      alert,
      labels.severity,
      annotations.summary,
    ]);
    expect(documented).toEqual(defined);
  });

  test("docs/metrics.md lists exactly the metrics that each alert reads", () => {
    const [, section = ""] = METRICS_PAGE.split("\n## Alerts\n");
    const rows = [
      ...section.matchAll(/^\| (`(?:up|chatbridge_|node_)[^|]*?) +\| (`ChatBridge[^|]*?) +\|$/gm),
    ];
    const quoted = (cell = "") => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const documented = rows.flatMap(([, metrics, names]) =>
      quoted(names).flatMap((name) => quoted(metrics).map((metric) => `${name} reads ${metric}`)),
    );
    const defined = alerts.flatMap(({ alert, expr }) => {
      const metrics = expr.match(/\b(?:up|(?:chatbridge|node)_\w+)(?=[^\w"-])/g) ?? [];
      const names = new Set(metrics.map((metric) => metric.replace(/_bucket$/, "")));
      return [...names].map((name) => `${alert} reads ${name}`);
    });
    expect(documented.toSorted()).toEqual(defined.toSorted());
  });
});

test.each([
  "deploy/monitoring/prometheus/alerts.yml",
  "deploy/monitoring/prometheus/alerts.test.yml",
  "deploy/monitoring/grafana/chat-bridge.json",
])("docs/metrics.md describes every metric that %s names", (path) => {
  const names = new Set(read(path).match(/\bchatbridge_\w+/g));
  expect(names.size).toBeGreaterThan(10);
  const known = (name: string) =>
    METRICS_PAGE.includes(`| \`${name}\` `) ||
    METRICS_PAGE.includes(`| \`${name.replace(/_(?:bucket|sum|count)$/, "")}\` `);
  expect([...names].filter((name) => !known(name))).toEqual([]);
});

describe("the files of Grafana:", () => {
  const { volumes = [] } = readComposeFile().services["grafana"] ?? {};
  const provisioned = (path: string): unknown =>
    parse(read(`deploy/monitoring/grafana/provisioning/${path}`));

  test("all panels of the dashboard get their data source from a variable for Prometheus", () => {
    const text = read("deploy/monitoring/grafana/chat-bridge.json");
    const { templating } = JSON.parse(text) as { templating: { list: readonly object[] } };
    expect(templating.list).toMatchObject([{ name: "datasource", type: "datasource", query: "prometheus" }]);
    const used = [...text.matchAll(/"uid": "(\$[^"]*)"/g)].map(([, uid]) => uid);
    expect(new Set(used)).toEqual(new Set(["${datasource}"]));
  });

  test("the only data source is the Prometheus of docker-compose.yml", () => {
    expect(provisioned("datasources/prometheus.yml")).toMatchObject({
      apiVersion: 1,
      datasources: [
        { type: "prometheus", url: "http://prometheus:9090", isDefault: true, uid: "prometheus" },
      ],
    });
  });

  test("the container mounts all files that the configuration names", () => {
    expect(volumes).toEqual(expect.arrayContaining(["./deploy/monitoring/grafana:/etc/grafana:ro"]));
    expect(provisioned("dashboards/chat-bridge.yml")).toMatchObject({
      apiVersion: 1,
      providers: [{ type: "file", options: { path: "/etc/grafana" } }],
    });
    const ini = read("deploy/monitoring/grafana/grafana.ini");
    const [, home = ""] = /^default_home_dashboard_path = \/etc\/grafana\/(.+)$/m.exec(ini) ?? [];
    expect(home !== "" && existsSync(join(ROOT, "deploy/monitoring/grafana", home))).toBe(true);
    const secrets = [...ini.matchAll(/^(\w+) = \$__file\{\/secrets\/grafana\/([a-z-]+)\}$/gm)];
    expect(secrets.map(([, setting, file]) => [setting, file])).toEqual([
      ["admin_password", "password"],
      ["secret_key", "secret-key"],
    ]);
  });
});
