import { readEdgeConfig } from "../../edge/config";

const EDGE = { CORE_TOKEN: "edge-token-for-tests" };

describe("the dashboard's settings", () => {
  test.each([
    ["unset", {}, undefined],
    ["empty", { DASHBOARD_LISTEN: "" }, undefined],
    ["off", { DASHBOARD_LISTEN: "off" }, undefined],
    ["an address", { DASHBOARD_LISTEN: "127.0.0.1:8082" }, { host: "127.0.0.1", port: 8082 }],
    ["an IPv6 address", { DASHBOARD_LISTEN: "[::1]:8082" }, { host: "::1", port: 8082 }],
  ])("DASHBOARD_LISTEN may be %s", (_what, settings, listen) => {
    expect(readEdgeConfig({ ...EDGE, ...settings }).dashboardListen).toEqual(listen);
  });

  test.each([
    ["https://hooks.example", "https://hooks.example"],
    ["https://hooks.example/base//", "https://hooks.example/base"],
  ])("PUBLIC_URL %s is shown as %s", (url, shown) => {
    expect(readEdgeConfig({ ...EDGE, PUBLIC_URL: url }).publicUrl).toBe(shown);
  });

  test.each([
    ["DASHBOARD_LISTEN", "8082"],
    ["DASHBOARD_LISTEN", "on"],
    ["PUBLIC_URL", "hooks.example"],
    ["PUBLIC_URL", "ftp://hooks.example"],
  ])("%s may not be %s", (name, value) => {
    expect(() => readEdgeConfig({ ...EDGE, [name]: value })).toThrow(name);
  });
});
