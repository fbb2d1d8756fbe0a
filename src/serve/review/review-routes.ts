import { z } from "zod";
import type { Services } from "../../services.ts";
import type { App } from "../http/app.ts";
import { RequestError } from "../http/problem.ts";
import { checkedBody } from "../http/request-input.ts";
import type { ServeContext } from "../operation.ts";
import { text, texts } from "../shapes/parameters.ts";
import { PageFiles } from "./page-files.ts";
import { FILES_PATH, type ReviewDoor, SESSION_PATH } from "./review-door.ts";
import type { ReviewEnd, ReviewVerdict } from "./review-end.ts";

/**
 * What the browser may do with the page: run its own scripts, which make no markup of texts, and reach this
 * server. Nothing comes from elsewhere, nothing goes there, and no other page shows it.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Of every answer. */
export const PAGE_HEADERS: { readonly [name: string]: string } = {
  "content-security-policy": POLICY,
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

const decision = z.discriminatedUnion("verdict", [
  z.strictObject({
    verdict: z.literal("approved"),
    plan: text.min(1),
    digest: text.min(1),
    allow: texts.exactOptional(),
    message: text.exactOptional(),
  }),
  z.strictObject({
    ...{ verdict: z.literal("changes"), plan: text.min(1), digest: text.min(1) },
    message: text.exactOptional(),
  }),
  z.strictObject({ verdict: z.literal("closed") }),
]);

export interface ReviewRoutes extends Pick<ServeContext, "services" | "version"> {
  readonly door: ReviewDoor;
  readonly end: ReviewEnd;
  /** The plan to begin with. */
  readonly plan: string | undefined;
}

/** Adds what only the page uses: its files, its way in, and the verdict. */
export function addReviewRoutes(app: App, { door, end, plan, services, version }: ReviewRoutes): void {
  const files = new PageFiles();
  const session = { plan: plan ?? null, version };
  app.use(async ({ env }, next) => {
    if (env.incoming.url !== LEAVE_PATH) end.stayed(env.outgoing);
    await next();
  });
  app.get("/", () => fileAnswer(files, "index.html"));
  app.get(`${FILES_PATH}:name`, ({ req }) => fileAnswer(files, req.param("name")));
  app.post(SESSION_PATH, async ({ env }) => {
    const { token } = await checkedBody(z.strictObject({ token: text }), env.incoming);
    const { key, cookie } = door.exchange(token, env.incoming.headers.host ?? "");
    return Response.json({ ...session, key }, { headers: { "set-cookie": cookie } });
  });
  app.get(SESSION_PATH, () => Response.json(session));
  app.post("/decide", async ({ env }) => {
    const given = await checkedBody(decision, env.incoming);
    if (given.verdict === "closed") end.decide({ verdict: "closed" });
    else end.decide(await recorded(services, given));
    return Response.json({ verdict: given.verdict });
  });
  app.post(LEAVE_PATH, () => {
    end.left();
    return Response.json({});
  });
}

const LEAVE_PATH = "/leave";
const VIA = "page";

/** Records a verdict with the plan, and tells it with the comments that are not settled. */
async function recorded(
  services: Services,
  given: Exclude<z.output<typeof decision>, { readonly verdict: "closed" }>,
): Promise<ReviewVerdict> {
  const { id, name } = await services.plans.find(given.plan);
  const { digest, message } = given;
  const reviews = await services.reviews();
  if (given.verdict === "approved")
    await services.plans.approve(id, { digest, allow: given.allow ?? [], via: VIA });
  else await reviews.askForChanges(id, { digest, via: VIA, ...(message !== undefined && { message }) });
  const { comments } = await reviews.show(id);
  return {
    verdict: given.verdict === "approved" ? "approved" : "changes asked",
    ...{ planId: id, planName: name, digest, ...(message !== undefined && { message }) },
    comments: comments.filter(({ resolved }) => resolved === undefined),
  };
}

function fileAnswer(files: PageFiles, name: string): Response {
  const file = files.read(name);
  if (file === undefined)
    throw new RequestError([404, "NO_SUCH_FILE"], "The page has no such file.", { hint: "Load it again." });
  return new Response(file.bytes, { headers: { "content-type": file.type } });
}
