/**
 * Lets the event loop look what has happened, without which Node notices no signal. Two immediates, because
 * the first one comes in the present turn if that has looked already.
 */
export async function nextTurn(): Promise<void> {
  for (let immediates = 0; immediates < 2; immediates += 1)
    await new Promise((resolve) => setImmediate(resolve));
}
