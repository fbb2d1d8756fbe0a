import type { LandedPart } from "../../../engine/landing/landed-part.ts";
import type { Layers } from "../base-record.ts";
import { type EarlierLayer, landLayer, returnLayer, returnNotes } from "../landed-layer.ts";
import { noteLanded } from "./landed-entries.ts";
import { returnFromSlots } from "./returned-entries.ts";

/** Makes a landed part the base, whether its entries leave the layer at once or with the last program. */
export function landInLayer(part: LandedPart, earlier: EarlierLayer, layers: Layers): void {
  if (earlier.landed === undefined) landLayer(part, earlier, layers);
  else noteLanded(part, layers);
}

/** Undoes that. While programs are inside, what landed beneath their mount is still there. */
export function takeBackInLayer(
  part: LandedPart,
  earlier: EarlierLayer,
  layers: Layers,
  isEntered: boolean,
): void {
  if (earlier.landed === undefined) {
    returnLayer(part, earlier, layers);
    return;
  }
  if (!isEntered) returnFromSlots(part, layers);
  returnNotes(part, earlier, layers);
}
