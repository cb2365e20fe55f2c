"""Times one peer on one group of rows. Reads a JSON object from standard input and writes a list of ms to standard
output. compare_rounds.py starts one process for each peer, group and round.

Only the call is timed. Weights are prepared beforehand as far as the peer allows: mkl_packed and onednn_packed
reorder them, as PyTorch's own compiler does. The result is the median of many samples. A cold variant cycles
through so many copies of the data that no cache helps.
"""
import json
import statistics
import sys
import time

CACHES = 160e6  # bytes; as in src/cli/bench/case.c


def parse(shape):
    return {part[0]: int(part[2:]) for part in shape.split(",")}


def copies(bytes_each):
    return max(2, int(CACHES / bytes_each) + 1)


def median_ms(call, ms):
    """Median time of call(i), over samples of several calls that take at least 1.5 ms together."""
    i, begin, took = 0, time.perf_counter(), 0.0
    while time.perf_counter() - begin < 0.1e-3 * ms or i < 2:
        start = time.perf_counter()
        call(i)
        took = time.perf_counter() - start
        i += 1
    row = max(1, int(1.5e-3 / (took + 1e-9)) + 1) if took < 1.5e-3 else 1
    samples, begin = [], time.perf_counter()
    while len(samples) < 7 or time.perf_counter() - begin < 1e-3 * ms:
        start = time.perf_counter()
        for _ in range(row):
            call(i)
            i += 1
        samples.append((time.perf_counter() - start) / row)
    return 1e3 * statistics.median(samples)


def gemm_openblas(s, ask):
    import ctypes
    import glob
    import os

    import numpy
    import scipy_openblas32
    path = glob.glob(os.path.join(scipy_openblas32.get_lib_dir(), "libscipy_openblas*.so"))[0]
    blas = ctypes.CDLL(path)
    blas.scipy_openblas_set_num_threads(ask["threads"])
    M, N, K = s["M"], s["N"], s["K"]
    generator = numpy.random.default_rng(1)
    x = generator.standard_normal((M, K), dtype=numpy.float32)
    n = copies(4 * N * K) if ask["variant"] == "cold" or M == 1 else 1
    ws = [generator.standard_normal((N, K), dtype=numpy.float32) for _ in range(n)]
    y = numpy.empty((M, N), dtype=numpy.float32)
    rows, no, yes = 101, 111, 112
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    sgemm = blas.scipy_cblas_sgemm
    pointers = [ctypes.c_void_p(w.ctypes.data) for w in ws]
    px, py = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)

    def call(i):
        sgemm(rows, no, yes, M, N, K, one, px, K, pointers[i % n], K, zero, py, N)
    call(0)
    assert numpy.allclose(y, x @ ws[0].T, rtol=1e-3, atol=1e-2)
    call.arrays = (x, ws, y)  # keep the arrays alive: call() holds only pointers to them
    return call


def gemm_torch(s, ask):
    import torch
    M, N, K = s["M"], s["N"], s["K"]
    x = torch.randn(M, K)
    n = copies(4 * N * K) if ask["variant"] == "cold" or M == 1 else 1
    ws = [torch.randn(N, K) for _ in range(n)]
    linear = torch.nn.functional.linear
    if ask["peer"] == "torch":
        return lambda i: linear(x, ws[i % n])
    if ask["peer"] == "mkl_packed":
        packed = [torch.ops.mkl._mkl_reorder_linear_weight(w, M) for w in ws]
        mkl = torch.ops.mkl._mkl_linear

        def call(i):
            return mkl(x, packed[i % n], ws[i % n], None, M)
    else:
        packed = [torch.ops.mkldnn._reorder_linear_weight(w, M) for w in ws]
        onednn = torch.ops.mkldnn._linear_pointwise

        def call(i):
            return onednn(x, packed[i % n], None, "none", [], "")
    assert torch.allclose(call(0), linear(x, ws[0]), rtol=1e-3, atol=1e-2)
    return call


def attention(s, ask):
    import torch
    sdpa = torch.nn.functional.scaled_dot_product_attention
    B, H, T, K = s["B"], s["H"], s["T"], s["K"]
    S, D, causal = s.get("S", T), s.get("D", K), ask["causal"]
    n = copies(4 * B * H * S * (K + D)) if ask["variant"] == "cold" else 1
    backward = ask["op"] == "attention_bwd"
    q = torch.randn(B, H, T, K, requires_grad=backward)
    ks = [torch.randn(B, H, S, K, requires_grad=backward) for _ in range(n)]
    vs = [torch.randn(B, H, S, D, requires_grad=backward) for _ in range(n)]
    if not backward:
        return lambda i: sdpa(q, ks[i % n], vs[i % n], is_causal=causal)
    out = sdpa(q, ks[0], vs[0], is_causal=causal)
    dout = torch.randn_like(out)
    return lambda i: torch.autograd.grad(out, (q, ks[0], vs[0]), dout, retain_graph=True)


def encoder_layer(s, ask):
    import torch
    layer = torch.nn.TransformerEncoderLayer(s["C"], s["H"], s["F"], dropout=0.0, batch_first=True)
    x = torch.randn(s["B"], s["T"], s["C"])
    if ask["op"] == "encoder_layer_fwd":
        layer.eval()
        return lambda i: layer(x)
    layer.train()
    x.requires_grad_(True)
    y = layer(x)
    dy = torch.randn_like(y)
    inputs = [x] + list(layer.parameters())
    return lambda i: torch.autograd.grad(y, inputs, dy, retain_graph=True)


def make_call(s, ask):
    if ask["op"] == "gemm":
        return (gemm_openblas if ask["peer"] == "openblas" else gemm_torch)(s, ask)
    return (encoder_layer if ask["op"].startswith("encoder") else attention)(s, ask)


def main():
    ask = json.load(sys.stdin)
    if ask["peer"] == "openblas":
        print(json.dumps([median_ms(make_call(parse(s), ask), ask["ms"]) for s in ask["shapes"]]))
        return
    import torch
    torch.set_num_threads(ask["threads"])
    torch.manual_seed(1)
    learning = ask["op"].endswith("_bwd")
    with torch.set_grad_enabled(learning), torch.inference_mode(not learning):
        print(json.dumps([median_ms(make_call(parse(s), ask), ask["ms"]) for s in ask["shapes"]]))


if __name__ == "__main__":
    main()
