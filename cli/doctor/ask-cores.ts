import { status, type ServiceError } from "@grpc/grpc-js";
import type { GetInstallationResponse } from "../../proto/gen/chatbridge/v1/installation";
import { WorkspaceServiceClient, type FollowGroup } from "../../proto/gen/chatbridge/v1/workspace";
import { WORKSPACE_STATE_WORDS } from "../../proto/codes";
import {
  bearer,
  callUnary,
  createGrpcClient,
  failureCause,
  type UnaryMethod,
} from "../../runtime/core-channel";
import type { CoreConnection } from "../../runtime/core-connection";
import { isServiceError } from "../failure";
import { leastSkewMs } from "./clocks";
import { addressText, toTarget, type CoreAddress } from "./core-addresses";
import { openTls, type TlsFacts } from "./open-tls";

/** Why a core did not answer a call. */
export interface CoreRefusal {
  readonly code: status;
  readonly details: string;
}

/** The answer of the core at one address. */
export interface AskedCore {
  /** host:port, for people. */
  readonly at: string;
  /** The answer, or the reason why core did not answer. */
  readonly answer: CoreAnswer | CoreRefusal;
  /** The TLS handshake with this address; "plain" when neither the command nor core uses TLS. */
  readonly tls: TlsFacts | { readonly failed: string } | "plain";
}

export interface CoreAnswer {
  readonly installation: GetInstallationResponse;
  /** Milliseconds by which the clock of core's machine is ahead of this machine's. */
  readonly skewMs: number;
}

/** Facts about all workspaces and games, which every core knows. A fact is a refusal if its call failed. */
export interface SharedFacts {
  readonly groups: readonly FollowGroup[] | CoreRefusal;
  readonly failing: number | CoreRefusal;
}

export function isRefusal(answer: unknown): answer is CoreRefusal {
  return typeof answer === "object" && answer !== null && "code" in answer;
}

/** Calls one core. `name` is the name that the core's certificate must have. */
export function createAsker({ token, tls }: CoreConnection, name: string | undefined, withinMs: number) {
  async function withClient<T>(
    address: CoreAddress,
    use: (
      call: <A, B>(method: UnaryMethod<A, B>, request: A) => Promise<B>,
      client: WorkspaceServiceClient,
    ) => Promise<T>,
  ): Promise<T | CoreRefusal> {
    const override = { "grpc.ssl_target_name_override": name, "grpc.default_authority": name };
    const options = name === undefined ? {} : override;
    const client = createGrpcClient(WorkspaceServiceClient, toTarget(address), tls, options);
    try {
      return await use(
        (method, request) => callUnary(client, method, request, bearer(token), withinMs),
        client,
      );
    } catch (error) {
      if (!isServiceError(error)) throw error;
      return toRefusal(error);
    } finally {
      client.close();
    }
  }

  /** Reads the installation from one core. */
  function readInstallation(address: CoreAddress): Promise<CoreAnswer | CoreRefusal> {
    return withClient(address, async (call, client) => {
      const fromMs = Date.now();
      const installation = await call(client.getInstallation, {});
      const theirs = installation.machineAt?.getTime() ?? fromMs;
      const ours = { fromMs, toMs: Date.now() };
      return { installation, skewMs: leastSkewMs({ fromMs: theirs, toMs: theirs }, ours) };
    });
  }

  return {
    readInstallation,
    /** Reads the installation from one core, and makes a TLS handshake with this core. */
    async ask(address: CoreAddress): Promise<AskedCore> {
      const at = addressText(address);
      const shakeHands = () => openTls({ ...address, name: name ?? address.host }, tls, withinMs);
      if (tls !== undefined) {
        const [answer, handshake] = await Promise.all([readInstallation(address), shakeHands()]);
        return { at, answer, tls: handshake };
      }
      const answer = await readInstallation(address);
      const isUnreached = isRefusal(answer) && answer.code === status.UNAVAILABLE;
      // If the command has no TLS settings, a successful handshake shows that core expects TLS.
      const handshake = isUnreached ? await shakeHands() : undefined;
      return { at, answer, tls: handshake === undefined || "failed" in handshake ? "plain" : handshake };
    },
    /**
     * Returns the client address of a probe: "" if this core has not received the probe, and undefined if core does not
     * answer. The first call announces the probe.
     */
    async probedAddress(address: CoreAddress, probeId: string): Promise<string | undefined> {
      const answer = await withClient(address, (call, client) => call(client.getProbedAddress, { probeId }));
      return isRefusal(answer) ? undefined : answer.sourceAddress;
    },
    async readShared(address: CoreAddress): Promise<SharedFacts> {
      const [groups, failing] = await Promise.all([
        withClient(address, async (call, client) => (await call(client.listGroups, {})).groups),
        withClient(address, async (call, client) => {
          const { counts } = await call(client.countWorkspaces, {});
          return counts.find(({ state }) => WORKSPACE_STATE_WORDS.get(state) === "failing")?.count ?? 0;
        }),
      ]);
      return { groups, failing };
    },
  };
}

function toRefusal({ code, details }: ServiceError): CoreRefusal {
  return { code, details: failureCause(details) };
}
