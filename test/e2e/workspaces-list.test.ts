import { status } from "@grpc/grpc-js";
import type { ListWorkspacesResponse } from "../../proto/gen/chatbridge/v1/workspace";
import { refusal } from "../harness/workspace-api";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const api = service.workspaces;

describe("listing", () => {
  async function listAll(pageSize: number): Promise<readonly ListWorkspacesResponse[]> {
    const pages = [await api.list(pageSize)];
    for (let token = pages[0]?.nextPageToken; token; token = pages.at(-1)?.nextPageToken) {
      pages.push(await api.list(pageSize, token));
    }
    return pages;
  }

  /** Makes one that is newer than all others: two of one moment have no order. */
  const makeNewer = (): Promise<string> =>
    until("a newer workspace", async () => {
      const [newest] = (await api.list(1)).workspaces;
      const { id, createdAt } = await api.make();
      if (Number(createdAt) > Number(newest?.createdAt ?? 0)) return id;
      return void (await api.delete(id));
    });

  test("answers all workspaces newest first, whatever the size of the pages", async () => {
    const created: string[] = [];
    for (let i = 0; i < 12; i++) created.unshift(await makeNewer());
    const total = (await listAll(1_000)).flatMap(({ workspaces }) => workspaces).length;
    for (const pageSize of [7, Math.min(total - 1, 999), Math.min(total, 1_000), 1_000]) {
      const pages = await listAll(pageSize);
      const ids = pages.flatMap(({ workspaces }) => workspaces.map(({ id }) => id));
      expect(ids.slice(0, 12)).toEqual(created);
      expect(new Set(ids).size).toBe(total);
      expect(ids).toHaveLength(total);
      expect(pages.map(({ workspaces }) => workspaces.length)).toEqual(
        pages.map((_, i) => (i < pages.length - 1 ? pageSize : total - pageSize * (pages.length - 1))),
      );
    }
  });

  test("continues at its place when workspaces are created and deleted meanwhile", async () => {
    const [third, second, first] = [await makeNewer(), await makeNewer(), await makeNewer()];
    const page = await api.list(1);
    expect(page.workspaces.map(({ id }) => id)).toEqual([first]);
    await makeNewer();
    await api.delete(first);
    const next = await api.list(2, page.nextPageToken);
    expect(next.workspaces.map(({ id }) => id)).toEqual([second, third]);
  });

  test("answers 100 when no size is asked for", async () => {
    const missing = 101 - (await api.list(1_000)).workspaces.length;
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => api.make()));
    const page = await api.list();
    expect([page.workspaces.length, page.nextPageToken === ""]).toEqual([100, false]);
  });

  test.each([
    ["page_size", 1_001, ""],
    ["page_token", 10, "nonsense"],
    ["page_token", 10, "11111111-2222-4333-8444-555555555555"],
  ])("is refused with INVALID_ARGUMENT that names %s: %j, %j", async (field, size, token) => {
    await expect(api.list(size, token)).rejects.toMatchObject(refusal(status.INVALID_ARGUMENT, field));
  });
});
