import { createOperator } from "../../deploy/local/operator";

/** The addresses at which tenants reach the service. */
export interface Place {
  /** Address of core's gRPC listener, host:port. */
  readonly coreAddress: string;
  /** Base URL of the edge. */
  readonly url: string;
  /** Base URL of the dashboard. */
  readonly dashboardUrl: string;
}

/**
 * A customer of the service: two workspaces, and tokens for a game and an operator that are limited to these workspaces.
 */
export interface Tenant {
  /**
   * Name of both tokens. The game can therefore follow only the group `<name>`, and groups named `<name>.<anything>`.
   */
  readonly name: string;
  readonly gameToken: string;
  readonly operatorToken: string;
  /** A workspace whose bridge polls. */
  readonly polled: TenantWorkspace;
  /** A workspace for which the tenant sets a target URL. New tenants have no target URL. */
  readonly pushed: TenantWorkspace;
  /** Source address of the bridge's requests: a loopback address. */
  readonly address: string;
}

export interface TenantWorkspace {
  readonly id: string;
  readonly secret: string;
}

/**
 * Creates tenants in the store of a core. Core accepts the tenants' tokens only if `CORE_TOKENS` includes the result of
 * `tenantTokens`.
 */
export async function createTenants(
  coreAddress: string,
  operatorToken: string,
  names: readonly string[],
): Promise<readonly Tenant[]> {
  const operator = createOperator(coreAddress, operatorToken);
  const make = async (name: string): Promise<TenantWorkspace> => {
    const { workspace, signingSecret } = await operator.create(name);
    return { id: workspace?.id ?? "", secret: signingSecret };
  };
  try {
    return await Promise.all(
      names.map(async (name, place) => ({
        name,
        gameToken: `game-token-of-the-tenant-${name}`,
        operatorToken: `operator-token-of-the-tenant-${name}`,
        polled: await make(`${name}, polled`),
        pushed: await make(`${name}, pushed`),
        address: `127.0.0.${place + 2}`,
      })),
    );
  } finally {
    operator.close();
  }
}

/** Returns the tokens of the tenants, in the format of `CORE_TOKENS`. */
export function tenantTokens(tenants: readonly Tenant[]): string {
  return tenants
    .flatMap(({ name, gameToken, operatorToken, polled, pushed }) => {
      const limit = `${name}@${polled.id}+${pushed.id}`;
      return [`game:${limit}=${gameToken}`, `operator:${limit}=${operatorToken}`];
    })
    .join(",");
}
