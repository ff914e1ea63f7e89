import type { CreateWorkspaceResponse } from "../proto/gen/chatbridge/v1/workspace";
import type { Operator } from "./operator";
import type { DemoWorkspace } from "./settings-file";
import { StartFault } from "./start-fault";

/**
 * The demo workspace: the one that is known, connected again where someone has
 * disconnected it, or a new one where core does not have it.
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
    throw new StartFault(`Core did not give a demo workspace: ${(error as Error).message}`);
  }
}

function shown({ workspace, signingSecret }: CreateWorkspaceResponse): DemoWorkspace {
  return { id: workspace?.id ?? "", secret: signingSecret };
}
