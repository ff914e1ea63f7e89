import type { CreateWorkspaceResponse } from "../proto/gen/chatbridge/v1/workspace";
import type { Operator } from "./operator";
import type { DemoWorkspace } from "./settings-file";
import { StartFault } from "./start-fault";

/**
 * Resolves to the demo workspace: `known`, which is connected again if it was
 * disconnected, or a new one if core does not have it. Throws StartFault.
 */
export async function demoWorkspace(
  operator: Operator,
  known: DemoWorkspace | undefined,
): Promise<DemoWorkspace> {
  try {
    const found = known === undefined ? undefined : await operator.find(known.id);
    if (found === undefined || known === undefined) return shown(await operator.create("Demo"));
    return found.connected ? known : shown(await operator.connect(known.id));
  } catch (error) {
    throw new StartFault(`Cannot get the demo workspace from core: ${(error as Error).message}`);
  }
}

function shown({ workspace, signingSecret }: CreateWorkspaceResponse): DemoWorkspace {
  return { id: workspace?.id ?? "", secret: signingSecret };
}
