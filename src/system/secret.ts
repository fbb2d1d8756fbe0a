/** Whether a secret was given, told in the same time wherever it differs. */
export function isSecret(given: string, secret: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(secret)];
  let differs = one.length ^ other.length;
  for (const [at, byte] of other.entries()) differs |= byte ^ (one[at] ?? 0);
  return differs === 0;
}
