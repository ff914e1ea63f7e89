import type { Page, Request } from "playwright-core";
import { signInPath, testBrowser } from "../harness/browser";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const { dashboardUrl } = service;
const browser = testBrowser();

/** Opens a page whose script does not load until `release` is called. Records the requests to the API. */
async function openWithoutScript(page: Page, path: string) {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/assets/index-*.js", async (route) => {
    await released;
    await route.continue();
  });
  const reads: string[] = [];
  page.on("request", (request: Request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith("/api/")) reads.push(`${pathname}${search}`);
  });
  await page.goto(`${dashboardUrl}${path}`, { waitUntil: "commit" });
  return { reads, release };
}

const LIST = "/api/workspaces?after=&search=&size=25";

test.each<
  [page: string, path: (id: string, eventId: string) => string, read: (id: string, eventId: string) => string]
>([
  ["list", () => "/", () => LIST],
  ["list of a state", () => "/?state=idle", () => `${LIST}&state=idle`],
  ["page of a workspace", (id) => `/workspaces/${id}`, (id) => `/api/workspaces/${id}`],
  ["settings of a workspace", (id) => `/workspaces/${id}/settings`, (id) => `/api/workspaces/${id}`],
  [
    "page of an event",
    (id, eventId) => `/workspaces/${id}/events/${eventId}`,
    (id, eventId) => `/api/workspaces/${id}/events/${eventId}`,
  ],
])(
  "the %s reads the session and its data before its script is loaded, and each only once",
  async (_, path, read) => {
    const { id } = await service.workspaces.make({ name: "Early" });
    const [published] = await publish(service.clients, textEvent(id, "hello"));
    const eventId = published?.outcome?.$case === "published" ? published.outcome.value.eventId : "";
    const { context } = await browser.visitSignedIn(dashboardUrl);
    const page = await context.newPage();
    const { reads, release } = await openWithoutScript(page, path(id, eventId));
    const wanted = ["/api/session", read(id, eventId)];
    await until("the early reads are sent", () => reads.length >= wanted.length);
    // The reads are sent at the same time, so they can arrive in any order.
    expect(reads.toSorted()).toEqual(wanted.toSorted());
    release();
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByRole("status").first().waitFor({ state: "attached" });
    await page.waitForLoadState("load");
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    // The page of an event reads the event again as soon as it is live.
    for (const each of wanted.filter((path) => !path.includes("/events/")))
      expect(reads.filter((other) => other === each)).toEqual([each]);
  },
);

test("the early read of the list uses the page size that the user chose before", async () => {
  await service.workspaces.make();
  const { page } = await browser.visitSignedIn(dashboardUrl);
  const listed = page.waitForResponse("**/api/workspaces?*");
  await page.getByLabel("Show").selectOption("50");
  await listed;
  const { reads, release } = await openWithoutScript(page, "/");
  await until("the early reads are sent", () => reads.length >= 2);
  expect(reads.toSorted()).toEqual(["/api/session", "/api/workspaces?after=&search=&size=50"]);
  release();
  await page.getByRole("table").waitFor();
});

test("without a session, a page reads no data early; a sign-in link reads nothing before it signs in", async () => {
  const { page, refusals } = await browser.visit("about:blank");
  const { reads, release } = await openWithoutScript(page, "/");
  await until("the session is read", () => reads.length > 0);
  release();
  await page.getByLabel("Operator's token").waitFor();
  expect(reads).toEqual(["/api/session"]);
  expect(refusals).toEqual([]);

  const linked = await browser.visit("about:blank");
  const sent: string[] = [];
  linked.page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/api/")) sent.push(`${request.method()} ${pathname}`);
  });
  await linked.page.goto(`${dashboardUrl}${await signInPath(dashboardUrl)}`);
  await linked.page.getByRole("heading", { name: "Workspaces", level: 1 }).waitFor();
  expect(sent[0]).toBe("POST /api/session");
  expect(sent).not.toContain("GET /api/session");
});
