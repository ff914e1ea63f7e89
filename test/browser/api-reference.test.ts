import { openApiDocument } from "../../edge/openapi/document";
import { PHONE, testBrowser, untilCount } from "../harness/browser";
import { sharedService } from "../harness/shared-service";
import { expectUsable } from "../harness/usable";
import { until } from "../harness/wait";

const { url, dashboardUrl } = sharedService();
const browser = testBrowser();
const document = openApiDocument(url);

test("the API reference shows every operation, event type, status and field, and works with the keyboard", async () => {
  const { page, context } = await browser.visit("about:blank");
  const hosts = new Set<string>();
  context.on("request", (request) => hosts.add(new URL(request.url()).origin));
  await page.goto(`${dashboardUrl}/docs`);
  await page.getByRole("heading", { name: "Chat bridge 1.0.0-beta" }).waitFor();
  expect(await page.title()).toBe("Chat bridge 1.0.0-beta: reference");
  await page.getByText(`Base URL: ${url}`).waitFor();
  for (const [path, methods] of Object.entries({ ...document.paths, ...document.webhooks })) {
    const section = page.locator(".opblock", { has: page.locator(`[data-path="${path}"]`) });
    for (const { summary, responses } of Object.values(methods)) {
      const control = section.getByRole("button", { name: summary });
      await control.press("Enter");
      const statuses = section.locator("td.response-col_status:not(.col_header)");
      await statuses.first().waitFor();
      expect(await statuses.allInnerTexts()).toEqual(Object.keys(responses));
      await control.press("Enter");
    }
  }
  const schemas = page.locator(".models article[data-json-schema-level='0']");
  expect(await schemas.count()).toBe(0);
  await page.getByRole("button", { name: "Schemas" }).press("Enter");
  for (const [index, [name, { properties = {} }]] of Object.entries(document.components.schemas).entries()) {
    const schema = schemas.nth(index);
    await schema.getByRole("button", { name, exact: true }).press("Enter");
    for (const field of Object.keys(properties)) {
      await schema.getByText(field, { exact: true }).first().waitFor();
    }
  }
  expect([...hosts]).toEqual([dashboardUrl]);
});

test("the API reference lists all calls before the large script is loaded, and the list does not move afterwards", async () => {
  const { page } = await browser.visit("about:blank");
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/assets/details-*.js", async (route) => {
    await released;
    await route.continue();
  });
  await page.goto(`${dashboardUrl}/docs`);
  await page.getByText("The details are loading.").waitFor();
  const links = page.locator(".calls a");
  const operations = Object.values({ ...document.paths, ...document.webhooks }).flatMap(Object.values);
  const texts = await links.allInnerTexts();
  expect(operations.filter(({ summary }) => !texts.some((text) => text.includes(summary)))).toEqual([]);
  expect(texts).toHaveLength(operations.length);
  await page.getByRole("button", { name: /^Theme/ }).waitFor();
  const before = await links.last().boundingBox();
  release();
  await page.locator(".opblock").last().waitFor();
  expect(await links.last().boundingBox()).toEqual(before);
  await untilCount(page.getByText("The details are loading."), 0);

  await page.getByRole("link", { name: "message.update" }).click();
  const opened = page.locator(".opblock", { has: page.locator('[data-path="message.update"]') });
  await opened.locator(".responses-wrapper").waitFor();
  await until("the focus is on the details", () =>
    page.evaluate<boolean>("document.activeElement?.closest('.opblock.is-open') !== null"),
  );
  expect(new URL(page.url()).hash).toBe("#/webhooks/pushMessageUpdate");
});

test("if the large script cannot be loaded, the API reference says where to find the details", async () => {
  const { page } = await browser.visit("about:blank");
  await page.route("**/assets/details-*.js", (route) => route.abort());
  await page.goto(`${dashboardUrl}/docs`);
  await page.getByText("The details cannot be loaded.").waitFor();
  await page.unroute("**/assets/details-*.js");
  await page.getByRole("link", { name: "Load the page again" }).click();
  await page.locator(".opblock").first().waitFor();
});

test("without JavaScript, the API reference lists all calls, and links to openapi.json", async () => {
  const { page } = await browser.visit(`${dashboardUrl}/docs`, { javaScriptEnabled: false });
  await page.getByText("Fetch held events").waitFor();
  await page.getByRole("link", { name: "openapi.json" }).click();
  expect(page.url()).toBe(`${dashboardUrl}/openapi.json`);
});

test("the API reference shows the dashboard's header and links to the dashboard, even on a phone", async () => {
  const { page, refusals } = await browser.visit(`${dashboardUrl}/docs`, { viewport: PHONE });
  const pages = page.getByRole("navigation", { name: "Pages" });
  await pages.getByRole("link", { name: "API reference", exact: true }).waitFor();
  const brand = page.getByRole("link", { name: "Chat bridge" });
  expect(await brand.locator("svg").isVisible()).toBe(true);
  const lookOf = (selector: string) =>
    page.evaluate<string>(
      `(() => { const { backgroundColor, fontFamily } = getComputedStyle(document.querySelector("${selector}")); return backgroundColor + fontFamily; })()`,
    );
  const header = await lookOf("header");
  await pages.getByRole("link", { name: "Workspaces" }).click();
  await page.getByLabel("Operator's token").waitFor();
  expect(await lookOf("header")).toBe(header);
  expect(refusals.filter((text) => !text.includes("401"))).toEqual([]);
});

test("the API reference links to the guides for bridge authors", async () => {
  const { page } = await browser.visit(`${dashboardUrl}/docs`);
  await page.getByRole("main").getByRole("link", { name: "Writing a bridge" }).click();
  await page.getByRole("heading", { name: "Writing a bridge", level: 1 }).waitFor();
  await page.getByRole("link", { name: "API reference" }).first().click();
  const guides = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Guides" });
  await guides.click();
  await page.getByRole("heading", { name: "Guides", level: 1 }).waitFor();
});

test("the API reference uses the theme that the user chose in the dashboard, and can change it", async () => {
  const { page } = await browser.visit(dashboardUrl);
  const background = () =>
    page.evaluate<string>("getComputedStyle(document.documentElement).backgroundColor");
  await page.getByRole("button", { name: "Theme: system. Change to light" }).click();
  const light = await background();
  await page.getByRole("button", { name: "Theme: light. Change to dark" }).click();
  const dark = await background();
  await page.goto(`${dashboardUrl}/docs`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  expect(await background()).toBe(dark);
  await page.getByRole("button", { name: "Theme: dark. Change to system" }).click();
  expect(await background()).toBe(light);
});

test("the API reference is accessible, even while an operation and a schema are expanded", async () => {
  const { page } = await browser.visit(`${dashboardUrl}/docs`);
  await page.locator(".opblock").first().waitFor();
  await expectUsable(page, "API reference");
  await page.locator(".opblock-summary-control").first().click();
  await page.locator(".opblock .responses-wrapper").first().waitFor();
  await page.getByRole("button", { name: "Schemas" }).click();
  await page.locator(".models article button").nth(1).click();
  await expectUsable(page, "API reference, open");
});
