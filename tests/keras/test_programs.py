"""Programs of the kind that notebooks hold, run by both libraries from the same weights."""

from __future__ import annotations

import contextlib

import numpy as np
import pyburn
import pytest
import torch
from keras_oracle import array, forget_names, keras
from pyburn import keras as ours

FIT = {"shuffle": False, "verbose": 0, "epochs": 2, "batch_size": 16}


def same_numbers(program, tolerance=1e-3):
    """Nothing; the program gives the same nest of numbers with Keras and with pyburn, whose weights are Keras's."""
    weights, found = [], []

    def remember(model):
        weights.append([np.asarray(each) for each in model.get_weights()])

    for library, same in ((keras, remember), (ours, lambda model: model.set_weights(weights.pop(0)))):
        forget_names()
        found.append(program(library, same))
    equal(*found, tolerance)


def equal(one, two, tolerance, where="result"):
    if isinstance(one, dict):
        assert list(one) == list(two), where
        for key in one:
            equal(one[key], two[key], tolerance, f"{where}[{key!r}]")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(two), where
        for place, pair in enumerate(zip(one, two, strict=True)):
            equal(*pair, tolerance, f"{where}[{place}]")
    elif isinstance(one, str) or one is None:
        assert one == two, where
    else:
        np.testing.assert_allclose(numbers(two), numbers(one), rtol=tolerance, atol=tolerance, err_msg=where)


def numbers(value):
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


X, Y = array((48, 8)), array((48,), 1, 0, 3)


def test_a_model_inside_does_not_hide_the_loss():
    def program(k, same):
        base = k.Sequential([k.Input((8,)), k.layers.Dense(6, activation="relu"), k.layers.BatchNormalization()])
        base.trainable = False
        start = k.Input((8,))
        model = k.Model(start, k.layers.Dense(3, activation="softmax")(base(start, training=False)))
        same(model)
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model.fit(X, Y, validation_data=(X, Y), **FIT).history, model.evaluate(X, Y, verbose=0)

    same_numbers(program)


def test_outputs_of_a_subclass_have_kerass_names():
    def program(k, same):
        class Two(k.Model):
            def __init__(self):
                super().__init__()
                self.one, self.two = k.layers.Dense(1), k.layers.Dense(1)

            def call(self, x):
                return self.one(x), self.two(x)

        model = Two()
        model(X[:2])
        same(model)
        y = X[:, :1]
        model.compile("sgd", ["mse", "mae"], loss_weights=[0.9, 0.1], metrics=[["mse"], ["mse"]])
        return model.fit(X, (y, y), **FIT).history, model.evaluate(X, (y, y), verbose=0)

    same_numbers(program)


def test_metrics_of_one_name_are_all_in_the_history():
    def program(k, same):
        model = k.Sequential([k.Input((8,)), k.layers.Dense(1, activation="sigmoid")])
        same(model)
        several = ["binary_accuracy", k.metrics.BinaryAccuracy(threshold=0.3), k.metrics.BinaryAccuracy(threshold=0.7)]
        model.compile("sgd", "binary_crossentropy", metrics=several, weighted_metrics=["binary_accuracy"])
        return model.fit(X, Y % 2, sample_weight=np.linspace(0, 1, 48), **FIT).history

    same_numbers(program)


def test_labels_are_only_needed_where_there_is_a_loss():
    def program(k, same):
        start = k.Input((8,))
        hidden = k.layers.Dense(4)(start)
        model = k.Model(start, [k.layers.Dense(3, activation="softmax")(hidden), hidden])
        same(model)
        model.compile("adam", ["sparse_categorical_crossentropy", None])
        return model.fit(X, Y, **FIT).history

    same_numbers(program)


def test_the_area_under_the_curve_of_logits():
    def program(k, same):
        metric = k.metrics.AUC()
        metric.update_state((Y % 2)[:, None], X[:, :1])
        return metric.result()

    same_numbers(program)


def test_a_cell_of_ones_own_needs_no_first_state():
    def program(k, same):
        class Minimal(k.layers.Layer):
            def __init__(self, units, **kwargs):
                super().__init__(**kwargs)
                self.units = self.state_size = units

            def build(self, shape):
                self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel")
                self.inner = self.add_weight(shape=(self.units, self.units), name="inner")

            def call(self, inputs, states):
                made = k.ops.matmul(inputs, self.kernel) + k.ops.matmul(states[0], self.inner)
                return made, [made]

        cells = [Minimal(5), k.layers.GRUCell(4)]
        model = k.Sequential([k.Input((6, 8)), k.layers.RNN(Minimal(5), return_sequences=True), k.layers.RNN(cells)])
        same(model)
        return model.predict(array((3, 6, 8)), verbose=0)

    same_numbers(program)


def test_positions_along_an_axis_of_unknown_size_and_masks_of_ones_own():
    def program(k, same):
        class Places(k.layers.Layer):
            def __init__(self, length, words, size):
                super().__init__()
                self.words, self.places = k.layers.Embedding(words, size), k.layers.Embedding(length, size)

            def call(self, x):
                return self.words(x) + self.places(k.ops.arange(0, k.ops.shape(x)[-1], 1))

            def compute_mask(self, x, mask=None):
                return k.ops.not_equal(x, 0)

        class Block(k.layers.Layer):
            def __init__(self):
                super().__init__()
                self.attention = k.layers.MultiHeadAttention(2, 4)
                self.row = k.Sequential([k.layers.Dense(8, activation="relu"), k.layers.Dense(8)])
                self.supports_masking = True

            def call(self, x, mask=None):
                allowed = None if mask is None else k.ops.cast(mask[:, None, :], "int32")
                return self.row(x + self.attention(query=x, value=x, key=x, attention_mask=allowed))

        start = k.Input((None,), dtype="int64")
        model = k.Model(start, k.layers.Dense(5, activation="softmax")(Block()(Places(12, 20, 8)(start))))
        same(model)
        ids = array((16, 9), 2, 1, 20)
        ids[:, 6:] = 0
        model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model.fit(ids, array((16, 9), 3, 0, 5), **FIT).history, model.predict(ids[:, :4], verbose=0)

    same_numbers(program)


def test_a_row_takes_sequences_of_other_lengths():
    row = ours.Sequential([ours.Input((5, 4)), ours.layers.Dense(3)])
    assert row(pyburn.zeros(2, 7, 4)).shape == (2, 7, 3)
    called = ours.Sequential([ours.layers.Embedding(9, 4), ours.layers.GlobalAveragePooling1D()])
    called(np.zeros((2, 5), "int64"))
    assert called.predict(np.ones((3, 8), "int64"), verbose=0).shape == (3, 4)


def test_comparisons_of_symbolic_tensors():
    def program(k, same):
        x = k.Input((8,))
        outputs = [x > 0, x >= 0.5, x < 0, x <= 0, x != 0, abs(x), (x > 0) & (x < 1), (x > 1) | (x < -1), ~(x > 0)]
        outputs += [x // 0.5, x % 0.5, k.ops.where(x > 0, x, 0.0), x.reshape((-1, 2, 4))]
        return [numbers(each) * 1.0 for each in k.Model(x, outputs)(X)]

    same_numbers(program)


def test_numbers_of_python_beside_whole_numbers():
    def program(k, same):
        whole, lib = np.array([1, 2, 3], "int32"), torch if k is keras else pyburn
        x = lib.tensor(whole)
        found = [k.ops.maximum(x, 2.5), k.ops.greater(x, 1.5), k.ops.equal(x, 2.5), k.ops.minimum(x, 1)]
        found += [k.ops.arange(np.int64(3)), k.ops.linspace(0, 1, 4, endpoint=False), k.ops.eye(2, 3, k=1)]
        found += [k.ops.expand_dims(x, (0, 2)), k.ops.zeros_like(x, dtype="float32")]
        return [numbers(each) * 1.0 for each in found]

    same_numbers(program)
    for mode in ("reflect", "symmetric", "edge"):
        padded = ours.ops.pad(pyburn.tensor(X[:3]), ((1, 2), (0, 3)), mode=mode)
        np.testing.assert_array_equal(padded.numpy(), np.pad(X[:3], ((1, 2), (0, 3)), mode))


def test_the_rate_has_the_words_of_a_variable():
    def program(k, same):
        model = k.Sequential([k.Input((8,)), k.layers.Dense(1)])
        model.compile(k.optimizers.Adam(0.1), "mse")
        model.fit(X, Y, verbose=0)
        optimizer = model.optimizer
        optimizer.learning_rate.assign(0.01)
        steps = int(optimizer.iterations.numpy())
        return (
            float(optimizer.learning_rate),
            float(optimizer.learning_rate.numpy()),
            steps,
            float(optimizer.iterations),
        )

    same_numbers(program)


def test_averages_of_weights_validate():
    def program(k, same):
        model = k.Sequential([k.Input((8,)), k.layers.Dense(3, activation="softmax")])
        same(model)
        model.compile(k.optimizers.Adam(0.1, use_ema=True, ema_momentum=0.5), "sparse_categorical_crossentropy")
        swap = k.callbacks.SwapEMAWeights(swap_on_epoch=True)
        return model.fit(X, Y, validation_data=(X, Y), callbacks=[swap], **FIT).history, model.get_weights()

    same_numbers(program)


def test_float16_trains_with_a_scaled_loss():
    def program(k, same):
        model = k.Sequential([k.Input((8,)), k.layers.Dense(4, dtype="mixed_float16"), k.layers.Dense(1)])
        same(model)
        model.dtype_policy = k.DTypePolicy("mixed_float16")
        model.compile("adam", "mse")
        name = type(model.optimizer).__name__
        return name, model.fit(X, X[:, :1], **FIT).history, float(model.optimizer.learning_rate)

    same_numbers(program, 1e-2)


def test_moments_of_batches_come_once():
    class Older(ours.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            seen.append(batch)

    class Both(Older):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(-batch - 1)

    for kind, expected in ((Older, [0, 1, 2]), (Both, [-1, -2, -3])):
        seen = []
        model = ours.Sequential([ours.Input((8,)), ours.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(X, Y, batch_size=16, verbose=0, callbacks=[kind()])
        assert seen == expected


def test_the_summary_counts_what_the_optimizer_keeps():
    lines = []
    for k in (keras, ours):
        forget_names()
        model = k.Sequential([k.Input((8,)), k.layers.Dense(3)])
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(X, Y, verbose=0)
        text = []
        model.summary(print_fn=lambda line, *args, text=text, **kwargs: text.append(line))
        lines.append([line for line in "\n".join(text).splitlines() if "params" in line])
    assert lines[0] == lines[1]


def test_the_summary_of_a_model_that_was_only_called_has_shapes():
    class Net(ours.Model):
        def __init__(self):
            super().__init__()
            self.one = ours.layers.Dense(4)

        def call(self, x):
            return self.one(x)

    net, lines = Net(), []
    net(X[:2])
    net.summary(print_fn=lines.append)
    assert "(2, 4)" in lines[0]


MISTAKES = {
    "cuts arrays, but x is a generator": lambda m: m.fit(((X, Y) for _ in range(2)), validation_split=0.2),
    "validation_data has 4 parts": lambda m: m.fit(X, Y, validation_data=(X, Y, Y, Y)),
    "class_weight is a list": lambda m: m.fit(X, Y, class_weight=[1, 2]),
    "'early' is no callback": lambda m: m.fit(X, Y, callbacks=["early"]),
    r"write Input\(shape=\(8,\)\)": lambda m: ours.Input(8),
    "key_dim is 0": lambda m: ours.layers.MultiHeadAttention(2, 0),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes(text):
    model = ours.Sequential([ours.Input((8,)), ours.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=text):
        MISTAKES[text](model)


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_epochs_that_are_shorter_than_the_data_go_on(steps):
    def program(k, same):
        class Batches(k.utils.PyDataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                return X[index * 12 : index * 12 + 12], Y[index * 12 : index * 12 + 12]

        histories = []
        for data in ((X, Y), (Batches(),)):
            model = k.Sequential([k.Input((8,)), k.layers.Dense(3, activation="softmax")])
            same(model)
            model.compile(k.optimizers.SGD(0.5), "sparse_categorical_crossentropy")
            size = {"batch_size": 12} if len(data) == 2 else {}
            options = {"steps_per_epoch": steps, "epochs": 4, "shuffle": False, "verbose": 0, **size}
            histories.append(model.fit(*data, **options).history)
        return histories

    with pytest.warns(UserWarning, match="ran out of data") if steps == 3 else contextlib.nullcontext():
        same_numbers(program)


@pytest.mark.filterwarnings("ignore:When providing `inputs` as a dict:UserWarning")
def test_inputs_in_a_nest():
    def program(k, same):
        start = {"a": k.Input((3,)), "b": [k.Input((4,)), k.Input((1,))]}
        joined = k.layers.concatenate([start["a"], *start["b"]])
        model = k.Model(start, {"o": k.layers.Dense(2)(joined), "p": (k.layers.Dense(1)(joined), joined)})
        same(model)
        given = model({"a": X[:, :3], "b": [X[:, 3:7], X[:, 7:]]})
        return {"o": given["o"], "p": list(given["p"])}

    same_numbers(program)


def test_an_optimizer_of_ones_own():
    def program(k, same):
        class Heavy(k.optimizers.Optimizer):
            def build(self, variables):
                if self.built:
                    return
                super().build(variables)
                self.speeds = self.add_optimizer_variables(variables, "speed")

            def update_step(self, gradient, variable, learning_rate):
                speed = self.speeds[self._get_variable_index(variable)]
                self.assign(speed, k.ops.add(k.ops.multiply(speed, 0.9), gradient))
                self.assign_sub(variable, k.ops.multiply(k.ops.cast(learning_rate, variable.dtype), speed))

        model = k.Sequential([k.Input((8,)), k.layers.Dense(3, activation="softmax", name="last")])
        same(model)
        model.compile(Heavy(learning_rate=0.1), "sparse_categorical_crossentropy")
        layer = model.layers[-1]
        return model.fit(X, Y, **FIT).history, layer.input_dtype, layer.path, model.jit_compile, k.ops.get_item(X, 0)

    same_numbers(program)
