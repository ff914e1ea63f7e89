import { execFile, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import Ajv, { type AnySchemaObject } from "ajv";
import { parse, parseAllDocuments, stringify } from "yaml";
import { ROOT } from "../harness/compose-file";
import { testFolder } from "../harness/folder";
import { EXAMPLES, helm, KUBERNETES, render, renderText, valuesOf } from "../harness/helm";
import type { Manifest } from "../harness/manifests";
import { findGatewayApi, findPrometheusOperator } from "../programs/go";
import { installKubernetesValidate } from "../programs/pypi";

const run = promisify(execFile);

let python: string;
beforeAll(async () => {
  python = await installKubernetesValidate();
});
const folder = testFolder();

const isCustom = ({ apiVersion }: { apiVersion: string }): boolean =>
  /^(?:gateway\.networking\.k8s\.io|monitoring\.coreos\.com)\//.test(apiVersion);

/** Validates objects with the schemas of a Kubernetes release. Returns the faults, or "" if there are none. */
async function faultsOf(objects: readonly object[], kubernetes: string): Promise<string> {
  const file = join(folder, "objects.yaml");
  writeFileSync(file, objects.map((each) => stringify(each)).join("---\n"));
  const args = ["-m", "kubernetes_validate", "--strict", "--quiet", "-k", kubernetes, file];
  const { stdout, stderr } = await run(python, args).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return stdout + stderr;
}

test("the chart and the project have the same version", () => {
  const chart = parse(readFileSync(join(ROOT, "deploy/helm/chat-bridge/Chart.yaml"), "utf8")) as object;
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  expect(chart).toMatchObject({ version, appVersion: version });
});

test("docs/kubernetes.md lists all values of the chart with their defaults and comments", () => {
  const check = ["scripts/helm-values.mjs", "--check"];
  const { status, stderr } = spawnSync(process.execPath, check, { cwd: ROOT, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

describe.each(EXAMPLES)("with the values of the example %s,", (example) => {
  test("helm lint --strict finds no fault in the chart", async () => {
    // `helm lint` has no option that simulates a cluster with the Prometheus Operator.
    const options = [
      ...valuesOf(example),
      "--set",
      "serviceMonitor.enabled=false,prometheusRule.enabled=false",
      "--strict",
    ];
    expect(await helm(["lint"], options)).toMatchObject({ code: 0 });
  });

  test.each(KUBERNETES)("each object follows the schemas of Kubernetes %s", async (kubernetes) => {
    const text = await renderText(example, [], kubernetes);
    const objects = parseAllDocuments(text).map((each) => each.toJS() as Manifest);
    expect(objects.length).toBeGreaterThan(10);
    const builtIn = objects.filter((each) => !isCustom(each));
    expect(await faultsOf(builtIn, kubernetes)).toBe("");
  });
});

test("the validation with Kubernetes schemas detects an unknown field and a missing field", async () => {
  const [first] = (await render("single")).filter(({ kind }) => kind === "Deployment");
  expect(first).toBeDefined();
  const unknown = { ...first, spec: { ...first?.spec, replicaCount: 2 } };
  expect(await faultsOf([unknown], "1.37")).toContain("replicaCount");
  expect(await faultsOf([{ ...first, spec: { ...first?.spec, selector: undefined } }], "1.37")).toContain(
    "selector",
  );
});

describe("custom resources", () => {
  /** Definitions of custom resources, downloaded from releases of the projects that define these resources. */
  const DEFINED_BY = [
    {
      find: findGatewayApi,
      files: ["httproutes", "grpcroutes"].map(
        (name) => `config/crd/standard/gateway.networking.k8s.io_${name}.yaml`,
      ),
    },
    {
      find: findPrometheusOperator,
      files: ["servicemonitors", "prometheusrules"].map(
        (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
      ),
    },
  ];
  const validators = new Map<string, (object: unknown) => string>();

  beforeAll(async () => {
    const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
    for (const { find, files } of DEFINED_BY) {
      const from = await find();
      for (const file of files) {
        const { spec } = parse(readFileSync(join(from, file), "utf8")) as Definition;
        for (const { name, schema } of spec.versions) {
          const check = ajv.compile(closed(schema.openAPIV3Schema));
          const validate = (object: unknown) => (check(object) ? "" : ajv.errorsText(check.errors));
          validators.set(`${spec.group}/${name} ${spec.names.kind}`, validate);
        }
      }
    }
  });

  interface Definition {
    readonly spec: {
      readonly group: string;
      readonly names: { readonly kind: string };
      readonly versions: readonly {
        readonly name: string;
        readonly schema: { readonly openAPIV3Schema: AnySchemaObject };
      }[];
    };
  }

  /**
   * Returns a copy of a schema that forbids unknown fields, because `kubectl apply` rejects them by default. Removes
   * `(?i)` from patterns, because JavaScript does not support it; so the copy's patterns are case-sensitive.
   */
  function closed(schema: AnySchemaObject): AnySchemaObject {
    return JSON.parse(JSON.stringify(schema), (key, value: unknown) => {
      if (key === "pattern" && typeof value === "string") return value.replace("(?i)", "");
      const isClosed =
        typeof value === "object" &&
        value !== null &&
        "properties" in value &&
        "type" in value &&
        value.type === "object" &&
        !("x-kubernetes-preserve-unknown-fields" in value);
      return isClosed ? { additionalProperties: false, ...value } : value;
    }) as AnySchemaObject;
  }

  function faultsOfCustom(object: Manifest): string {
    const validate = validators.get(`${object.apiVersion} ${object.kind}`);
    return validate === undefined ? `no schema of ${object.kind}` : validate(object);
  }

  test("custom resources of every kind that the chart renders follow the schemas of the Gateway API and the Prometheus Operator", async () => {
    const custom = (await render("everything")).filter(isCustom);
    expect(custom.map(({ kind }) => kind).toSorted()).toEqual([
      "GRPCRoute",
      "HTTPRoute",
      "HTTPRoute",
      "PrometheusRule",
      "ServiceMonitor",
    ]);
    for (const each of custom) expect(faultsOfCustom(each)).toBe("");
  });

  test("custom resources with an unknown field or an invalid value do not follow the schemas", async () => {
    for (const each of (await render("everything")).filter(isCustom)) {
      const { spec } = each;
      expect(faultsOfCustom({ ...each, spec: { ...spec, hostname: "x" } as never })).not.toBe("");
      expect(
        faultsOfCustom({ ...each, spec: { ...spec, parentRefs: {}, endpoints: 1, groups: 1 } as never }),
      ).not.toBe("");
    }
  });
});

test("the PrometheusRule contains exactly the rules of alerts.yml, including the placeholders that Prometheus fills in", async () => {
  const rules = parse(readFileSync(join(ROOT, "deploy/monitoring/prometheus/alerts.yml"), "utf8")) as object;
  const [rule] = (await render("everything")).filter(({ kind }) => kind === "PrometheusRule");
  expect(rule?.spec).toEqual(rules);
  expect(rule?.metadata.labels).toMatchObject({ release: "prometheus" });
  expect(stringify(rules)).toContain("{{ $value | humanizePercentage }}");
});

test("Prometheus adds to the metrics the job label that the alert rules expect", async () => {
  const objects = await render("everything");
  const { spec } = objects.find(({ kind }) => kind === "ServiceMonitor") ?? {};
  const { jobLabel, selector } = spec as unknown as {
    jobLabel: string;
    selector: { matchLabels: Record<string, string> };
  };
  const selected = objects.filter(
    ({ kind, metadata: { labels } }) =>
      kind === "Service" &&
      Object.entries(selector.matchLabels).every(([name, value]) => labels[name] === value),
  );
  expect(selected.map(({ metadata }) => metadata.labels?.[jobLabel])).toEqual(["chat-bridge"]);
  const text = readFileSync(join(ROOT, "deploy/monitoring/prometheus/alerts.yml"), "utf8");
  expect(text).toContain('up{job="chat-bridge"}');
});

describe("values that the chart rejects:", () => {
  const REQUIRED: readonly (readonly [string, ...string[]])[] = [
    ["image.repository=", "push the image to your registry"],
    ["core.secret=", "create a Secret with the keys SECRETS_KEY and CORE_TOKENS"],
    ["edge.secret=", "create a Secret with the key CORE_TOKEN"],
    ["redis.hosts=null", "list host:port of the server"],
    ["redis.hosts={a:1,b:2}", "set redis.mode to sentinel or cluster"],
    ["redis.mode=sentinel", "redis.sentinel.master is missing"],
    ["redis.mode=cluster,redis.database=1", "redis.database must be 0"],
    ["redis.username=ada,redis.passwordSecret.name=", "redis.username requires a password"],
    ["networkPolicy.redis.to=null", "list the peers"],
    ["tls.serverSecret=x", "tls.caSecret is missing"],
    ["core.smtp=true", "core.settings.MAIL_FROM is missing"],
    ["ingress.enabled=true,networkPolicy.enabled=false,ingress.edge.host=a.example", "trustProxy is missing"],
    [
      "ingress.enabled=true,networkPolicy.enabled=false,trustProxy=10.0.0.0/8",
      "ingress.edge.host is missing",
    ],
    [
      "ingress.enabled=true,trustProxy=10.0.0.0/8,ingress.edge.host=a.example",
      "networkPolicy.proxies is missing",
    ],
    [
      "gateway.enabled=true,networkPolicy.enabled=false,trustProxy=10.0.0.0/8",
      "gateway.parentRefs is missing",
    ],
    ["core.replica=3", "additional properties 'replica' not allowed"],
    ["redis.password=x", "additional properties 'password' not allowed"],
    ["redis.hosts={user:x@redis:6379}", "does not match pattern"],
    ["core.settings.SHARD=64", "SHARD"],
    ["core.settings.SECRETS_KEY=x", "SECRETS_KEY"],
    ["core.extraEnv[0].name=SMTP_URL,core.extraEnv[0].value=smtp://u:p@h", "/core/extraEnv/0"],
    ["core.drainSeconds=61", "/core/drainSeconds"],
  ];
  test.each(REQUIRED)("--set %s fails with a message that contains: %s", async (set, message) => {
    const { code, stdout, stderr } = await helm(["template"], [...valuesOf("single"), "--set", set]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(message);
  });

  test.each(["serviceMonitor", "prometheusRule"])(
    "a %s in a cluster without the Prometheus Operator",
    async (value) => {
      const options = [...valuesOf("single"), "--set", `${value}.enabled=true`];
      expect((await helm(["template"], options)).stderr).toContain("install its custom resources first");
    },
  );
});
