import type { DeliveryShape } from "../../proto/json/shapes";
import { announce } from "../announce";
import { ActionButton } from "../parts/action-button";
import { exportName, toJsonLines } from "../words/log-export";

/** Saves the deliveries that match the filters as a file of JSON lines. The browser makes the file. */
export function ExportButton({
  found,
  workspaceId,
}: {
  readonly found: readonly DeliveryShape[];
  readonly workspaceId: string;
}) {
  function save(): void {
    const url = URL.createObjectURL(new Blob([toJsonLines(found)], { type: "application/jsonl" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = exportName(workspaceId, Date.now());
    link.click();
    URL.revokeObjectURL(url);
    announce(
      `Exported ${found.length.toLocaleString("en")} ${found.length === 1 ? "entry" : "entries"} as JSON lines.`,
    );
  }
  return (
    <ActionButton disabled={found.length === 0} onClick={save} title="Save the shown log as JSON lines">
      Export
    </ActionButton>
  );
}
