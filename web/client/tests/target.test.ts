// The address to which an admitted visitor goes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fillTarget } from "../src/target.js";
import { Follower } from "../src/follower.js";
import { activeEntry, joinedFollower, nearEntry, receiveEntry, stateWith } from "./samples.js";

test("the template gets the pass and the path", () => {
  const template = "https://shop.example/enter?pass={pass}&to={return}";
  assert.equal(fillTarget(template, "p", "/item/7?a=1#b"), "https://shop.example/enter?pass=p&to=%2Fitem%2F7%3Fa%3D1%23b");
  assert.equal(fillTarget("https://shop.example/#p={pass}", "p", "/x"), "https://shop.example/#p=p");
  assert.equal(fillTarget("https://shop.example/a?b=1", "p", "/x"), "https://shop.example/a?b=1#pass=p");
  assert.equal(fillTarget("https://shop.example/#old", "p", ""), "https://shop.example/#pass=p");
});

test("only a path of the target itself is passed on", () => {
  const hostile = [
    "",
    "x",
    "//evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\\\\evil.example",
    "https://evil.example/",
    "javascript:alert(1)",
    "/a\\b",
    " /x",
  ];
  for (const path of hostile) {
    const address = fillTarget("https://shop.example/?to={return}", "p", path);
    assert.equal(address, "https://shop.example/?to=%2F#pass=p", JSON.stringify(path));
  }
});

test("an active visitor has an address as soon as there is a pass", () => {
  const follower = joinedFollower(nearEntry());
  const target = { target_url: "https://shop.example/" };
  receiveEntry(follower, activeEntry(target), 1_000);
  assert.equal(stateWith("active", follower, 1_000).targetUrl, "https://shop.example/#pass=p");
  receiveEntry(follower, activeEntry({ ...target, pass: undefined }), 2_000);
  assert.equal(stateWith("active", follower, 2_000).targetUrl, "", "the server cannot sign at the moment");
  receiveEntry(follower, activeEntry(), 3_000);
  assert.equal(stateWith("active", follower, 3_000).targetUrl, "", "the queue has no target");
  const returning = new Follower(() => 0.5, true, "/item");
  receiveEntry(returning, activeEntry({ target_url: "https://shop.example/?to={return}" }), 1_000);
  assert.equal(stateWith("active", returning, 1_000).targetUrl, "https://shop.example/?to=%2Fitem#pass=p");
});
