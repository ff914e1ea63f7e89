export type Labels = Readonly<Record<string, string>>;

/** An environment variable of a container. */
export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly args: readonly string[];
  readonly env: readonly Variable[];
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface Pod {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly automountServiceAccountToken: boolean;
    readonly enableServiceLinks: boolean;
    readonly containers: readonly Container[];
    readonly securityContext: object;
    readonly terminationGracePeriodSeconds: number;
    readonly volumes: readonly {
      readonly name: string;
      readonly secret?: {
        readonly secretName: string;
        readonly items?: readonly { readonly key: string; readonly path: string }[];
      };
      readonly configMap?: object;
    }[];
    readonly topologySpreadConstraints?: readonly {
      readonly labelSelector: Selector;
      readonly matchLabelKeys?: readonly string[];
    }[];
  };
}

interface Selector {
  readonly matchLabels: Labels;
}

export interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

export interface Rule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports: readonly { readonly protocol: string; readonly port?: number }[];
}

/** The fields that tests read from the objects that the chart renders. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels; readonly annotations?: Labels };
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly strategy?: object;
    readonly template: Pod;
    readonly selector: Selector & Labels;
    readonly podSelector: Selector;
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    readonly policyTypes: readonly string[];
    readonly ingress: readonly Rule[];
    readonly egress: readonly Rule[];
  };
}

/** Returns the objects of a kind. */
export const ofKind = (manifests: readonly Manifest[], kind: string): readonly Manifest[] =>
  manifests.filter((each) => each.kind === kind);

/** Returns the object of a kind whose name ends in `-<name>`. Throws if there is none. */
export function one(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = ofKind(manifests, kind).find((each) => each.metadata.name.endsWith(`-${name}`));
  if (found === undefined) throw new Error(`the chart renders no ${kind} with the name ${name}`);
  return found;
}

/** Returns the container of a process: core, edge or dashboard. */
export function containerOf(manifests: readonly Manifest[], component: string): Container {
  const [container] = one(manifests, "Deployment", component).spec.template.spec.containers;
  if (container === undefined) throw new Error(`the pod of ${component} has no container`);
  return container;
}

/** Returns whether a selector matches labels. An empty selector matches all labels. */
export const matches = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);
