/* Requests to the service that has sent this page: relative addresses, the token, and errors as sentences. */

import { askForToken, keptToken } from "./token.js";

const TRIES = 4; // of a reading request while the service is busy or away

/** What the service refused, or that it did not answer (status 0); `body` is what it said. */
export class Refused extends Error {
  constructor(status, sentence, body = {}) {
    super(sentence);
    this.status = status;
    this.body = body;
  }
}

/** The JSON at an address, with the parameters that are not empty. */
export async function get(path, parameters = {}, { signal } = {}) {
  return (await patiently(addressOf(path, parameters), { signal })).json();
}

/** What is at an address, as a file. */
export async function getFile(path, parameters = {}) {
  return (await patiently(addressOf(path, parameters))).blob();
}

/** What is at an address, as text. */
export async function getText(path, parameters = {}) {
  return (await patiently(addressOf(path, parameters))).text();
}

/** The answer to a change. It is sent once: whoever sends it decides whether to send it again. */
export async function post(path, body, type = "application/json") {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return (await send(path, { method: "POST", body: text, headers: { "Content-Type": type, "X-Cear": "1" } })).json();
}

/** Whether coming again later can help: nobody answered, or the service is busy. */
export function passing(error) {
  return (
    error instanceof Refused &&
    (error.status === 0 || error.status === 502 || error.status === 503 || error.status === 504)
  );
}

/** So many seconds. */
export function pause(seconds) {
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}

function addressOf(path, parameters) {
  const told = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return told.length ? `${path}?${new URLSearchParams(told)}` : path;
}

async function patiently(address, options = {}) {
  for (let tried = 1; ; tried += 1) {
    try {
      return await send(address, options);
    } catch (error) {
      if (!passing(error) || tried === TRIES) throw error;
      await pause(Math.min(error.body.retry ?? 0.3 * 2 ** tried, 5));
    }
  }
}

async function send(address, options) {
  const token = keptToken();
  const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
  let response;
  try {
    response = await fetch(address, { ...options, headers, cache: "no-store", credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The service does not answer. Is it running?");
  }
  if (response.status === 401) {
    await askForToken(token);
    return send(address, options);
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  const wait = Number(response.headers.get("Retry-After"));
  const said = typeof body.error === "string" ? body.error : `The service refused this (${response.status}).`;
  return new Refused(response.status, said, { ...body, retry: wait > 0 ? wait : undefined });
}
