import { UUID_FORM } from "../../contract/forms";
import { EdgeRefusal, EdgeRefusals, type ReportRefusalsRequest } from "../../proto/gen/chatbridge/v1/bridge";
import { networkOf } from "../../runtime/limit-connections";
import { createShares } from "../../runtime/shares";

export type RefusalReports = ReturnType<typeof createRefusalReports>;

/** A sample of a refused request, which the dashboard and the command line show. */
export interface EdgeSample {
  readonly isPoll: boolean;
  /** The sender's address, in canonical form. */
  readonly sourceAddress: string;
  readonly message?: string;
  readonly bytes?: number;
}

const REPORT_EVERY_MS = 1_000;
/**
 * Maximum number of entries in one report: in total, and for one address (or one IPv6 /64 network). Each entry counts
 * the requests for one workspace that were refused for one reason. So a sender who names many workspaces cannot use up
 * the room of others.
 */
const ENTRIES_MAX = { all: 256, network: 8 } as const;
const MESSAGE_MAX = 256;

/**
 * Reports to core, at most once per second, the requests that the edge refused without calling core. So a flood of such
 * requests costs core only one small call per second. Reports that core does not accept are lost.
 */
export function createRefusalReports(
  report: (request: ReportRefusalsRequest) => Promise<unknown>,
  everyMs = REPORT_EVERY_MS,
) {
  let entries = new Map<string, EdgeRefusals>();
  let shares = createShares(ENTRIES_MAX);
  let unreported = 0;
  let sending = false;

  async function send(): Promise<void> {
    const refusals = [...entries.values()];
    entries = new Map();
    shares = createShares(ENTRIES_MAX);
    sending = true;
    try {
      await report({ refusals });
    } catch {
      unreported += refusals.reduce((sum, { count }) => sum + count, 0);
    }
    sending = false;
  }
  const timer = setInterval(() => {
    if (entries.size > 0 && !sending) void send();
  }, everyMs);

  return {
    /** Number of refused requests that core has not counted, because there were too many, or core was unavailable. */
    get unreported() {
      return unreported;
    },
    /**
     * Counts a refused request. `sample` is called only for the first request of an entry.
     *
     * @param workspaceId the decoded path segment; if it is not a UUID, the request concerns no workspace and is not
     * counted
     */
    add(
      workspaceId: string,
      reason: EdgeRefusal,
      sourceAddress: string,
      sample: () => Omit<EdgeSample, "sourceAddress">,
    ): void {
      if (!UUID_FORM.test(workspaceId)) return;
      const key = `${reason}/${workspaceId.toLowerCase()}`;
      const known = entries.get(key);
      if (known !== undefined) {
        known.count += 1;
        return;
      }
      if (typeof shares.acquire({ network: networkOf(sourceAddress) }) === "string") {
        unreported += 1;
        return;
      }
      const { message = "", ...rest } = sample();
      const entry = { workspaceId, reason, count: 1, sourceAddress, message: message.slice(0, MESSAGE_MAX) };
      entries.set(key, EdgeRefusals.create({ ...entry, ...rest }));
    },
    close: () => clearInterval(timer),
  };
}
