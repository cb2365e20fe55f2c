"""Times translation with a random Marian model. Reads a JSON object from standard input and writes one to standard
output. compare_models.py starts one process for each peer, row and round.

transformers: MarianMTModel.generate of Hugging Face Transformers on PyTorch. ctranslate2: the same model converted,
in float32, with the matrix library that CTranslate2 chooses for this processor. Both write exactly the requested
number of tokens: the end token is suppressed until then. The call with the ids or tokens of all sentences is timed;
the result is the median. peer prepare: makes the folder of the model.
"""
import json
import os
import statistics
import sys
import time


def make_model(m, folder):
    """A Marian directory with random weights and a vocabulary of made-up words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast
    V = m["V"]
    config = MarianConfig(
        vocab_size=V, d_model=m["C"], encoder_layers=m["encoder"], decoder_layers=m["decoder"],
        encoder_attention_heads=m["H"], decoder_attention_heads=m["H"], encoder_ffn_dim=m["F"],
        decoder_ffn_dim=m["F"], max_position_embeddings=512, activation_function="relu",
        scale_embedding=True, share_encoder_decoder_embeddings=True, pad_token_id=V - 1,
        eos_token_id=0, decoder_start_token_id=V - 1, forced_eos_token_id=None)
    torch.manual_seed(1)
    MarianMTModel(config).save_pretrained(folder)
    words = ["</s>", "<unk>"] + [f"w{i}" for i in range(V - 3)] + ["<pad>"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>",
                            pad_token="<pad>").save_pretrained(folder)


def prepare(ask):
    """Makes the folder once. It gets its name when it is complete."""
    from ctranslate2.converters import TransformersConverter
    folder = ask["folder"]
    if not os.path.exists(f"{folder}/model.safetensors"):
        make_model(ask["model"], f"{folder}.new")
        os.rename(f"{folder}.new", folder)
    if not os.path.exists(f"{folder}/ctranslate2"):
        TransformersConverter(folder).convert(f"{folder}/ctranslate2.new", force=True)
        os.rename(f"{folder}/ctranslate2.new", f"{folder}/ctranslate2")
    return []


def sentences(m, B):
    """Ids of made-up words; the last one is the end token."""
    V, S = m["V"], m["S"]
    return [[2 + (7919 * (i * S + j) + 13) % (V - 3) for j in range(S - 1)] + [0] for i in range(B)]


def transformers_call(ask):
    import torch
    from transformers import GenerationConfig, MarianMTModel
    m = ask["model"]
    torch.set_num_threads(ask["threads"])
    model = MarianMTModel.from_pretrained(ask["folder"], dtype=torch.float32,
                                          attn_implementation="sdpa").eval()

    def call(B, beam):
        ids = torch.tensor(sentences(m, B))
        how = GenerationConfig(num_beams=beam, do_sample=False, min_new_tokens=m["T"],
                               max_new_tokens=m["T"], eos_token_id=0, pad_token_id=m["V"] - 1,
                               decoder_start_token_id=m["V"] - 1, use_cache=True)
        with torch.inference_mode():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=how)
        return [len(row) - 1 for row in out]  # without the start token
    return call


def ctranslate2_call(ask):
    import ctranslate2
    m = ask["model"]
    translator = ctranslate2.Translator(f"{ask['folder']}/ctranslate2", device="cpu",
                                        compute_type="float32", inter_threads=1,
                                        intra_threads=ask["threads"])

    def call(B, beam):
        words = [[f"w{id - 2}" for id in row[:-1]] + ["</s>"] for row in sentences(m, B)]
        out = translator.translate_batch(words, beam_size=beam, min_decoding_length=m["T"],
                                         max_decoding_length=m["T"])
        return [len(r.hypotheses[0]) for r in out]
    return call


def measure(ask):
    call = {"transformers": transformers_call, "ctranslate2": ctranslate2_call}[ask["peer"]](ask)
    medians = []
    for B, beam in ask["rows"]:
        written = call(B, beam)
        assert written == [ask["model"]["T"]] * B, f"{ask['peer']} wrote {written}"
        samples, begin = [], time.perf_counter()
        while len(samples) < 3 or time.perf_counter() - begin < 1e-3 * ask["ms"]:
            start = time.perf_counter()
            call(B, beam)
            samples.append(time.perf_counter() - start)
        medians.append(1e3 * statistics.median(samples))
    return medians


def main():
    ask = json.load(sys.stdin)
    result = (prepare if ask["peer"] == "prepare" else measure)(ask)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
