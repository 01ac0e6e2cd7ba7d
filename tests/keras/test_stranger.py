"""Programs as keras.io's guides write them, run by both libraries from the same weights."""

from __future__ import annotations

import pickle

import numpy as np
import pyburn
import pytest
import torch
from keras_oracle import array, forget_names, keras
from pyburn import keras as ours


def both(program):
    """What a program gives with Keras and with pyburn; `program(k, same)`, where `same(model)` sets its weights."""
    weights = []

    def remember(model):
        weights.append([np.asarray(each) for each in model.get_weights()])

    found = []
    for library, same in ((keras, remember), (ours, lambda model: model.set_weights(weights.pop(0)))):
        forget_names()
        keras.utils.set_random_seed(1)
        ours.utils.set_random_seed(1)
        found.append(program(library, same))
    return found


def equal(one, two, where="result"):
    """Nothing; both nests hold the same numbers."""
    if isinstance(one, dict):
        assert sorted(one) == sorted(two), where
        for key in one:
            equal(one[key], two[key], f"{where}[{key!r}]")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(two), where
        for place, pair in enumerate(zip(one, two, strict=True)):
            equal(*pair, f"{where}[{place}]")
    else:
        np.testing.assert_allclose(number(two), number(one), rtol=1e-3, atol=1e-4, err_msg=where)


def number(value):
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


def test_the_train_step_of_the_guide():
    def program(k, same):
        lib = torch if k is keras else pyburn

        class Guide(k.Model):
            def train_step(self, data):
                x, y = data
                self.zero_grad()
                y_pred = self(x, training=True)
                loss = self.compute_loss(y=y, y_pred=y_pred)
                loss.backward()
                weights = list(self.trainable_weights)
                with lib.no_grad():
                    self.optimizer.apply([each.value.grad for each in weights], weights)
                for metric in self.metrics:
                    if metric.name == "loss":
                        metric.update_state(loss)
                    else:
                        metric.update_state(y, y_pred)
                return {each.name: each.result() for each in self.metrics}

        x = k.Input((4,))
        model = Guide(x, k.layers.Dense(2)(k.layers.Dense(3, "relu")(x)))
        same(model)
        model.compile("adam", "mse", metrics=["mae", "accuracy"])
        return model.fit(array((20, 4)), array((20, 2), 1), epochs=3, shuffle=False, verbose=0).history

    expected, found = both(program)
    assert sorted(expected) == ["accuracy", "loss", "mae"]
    equal(expected, found)


def test_metrics_of_layers_and_of_a_property_are_in_the_history():
    def program(k, same):
        class Watched(k.layers.Layer):
            def __init__(self):
                super().__init__()
                self.seen = k.metrics.Mean(name="seen")

            def call(self, x):
                self.seen.update_state(k.ops.mean(x))
                return x

        class Own(k.Model):
            def __init__(self):
                super().__init__()
                self.dense, self.own = k.layers.Dense(2), k.metrics.Mean(name="own")

            @property
            def metrics(self):
                return [self.own]

            def call(self, x):
                self.own.update_state(k.ops.sum(x))
                return self.dense(x)

        x, y = array((20, 4)), array((20, 2), 1)
        first, second = k.Sequential([k.Input((4,)), Watched(), k.layers.Dense(2)]), Own()
        second(x)
        found = []
        for model in (first, second):
            same(model)
            model.compile("sgd", "mse", metrics=["mse", "mae", "cosine_similarity"])
            found.append(model.fit(x, y, epochs=2, shuffle=False, verbose=0, validation_data=(x, y)).history)
            found.append(model.evaluate(x, y, verbose=0))
        return found

    expected, found = both(program)
    assert "seen" in expected[0] and list(expected[2]) == ["own", "val_own"]
    equal(expected, found)


def test_a_generator_validates_on_the_same_batches_after_every_epoch():
    def program(k, same):
        def batches():
            place = 0.0
            while True:
                yield np.full((1, 1), place, "float32"), np.zeros((1, 1), "float32")
                place += 1

        model = k.Sequential([k.Input((1,)), k.layers.Dense(1, kernel_initializer="ones")])
        model.compile(k.optimizers.SGD(0.0), "mae")
        x = np.ones((4, 1), "float32")
        seen = model.fit(x, x, epochs=3, verbose=0, validation_data=batches(), validation_steps=2).history["val_loss"]
        return seen, model.fit(batches(), epochs=2, steps_per_epoch=2, shuffle=False, verbose=0).history["loss"]

    expected, found = both(program)
    assert found == ([0.5, 0.5, 0.5], [0.5, 2.5])
    equal(expected, found)


def test_masks_are_computed_without_an_earlier_one():
    def program(k, same):
        layer = k.layers.Embedding(9, 4, mask_zero=True)
        ids = np.array([[1, 2, 0], [3, 0, 0]])
        return layer.compute_mask(ids), k.layers.Masking().compute_mask(np.array([[[0.0, 0.0], [0.0, 1.0]]]))

    expected, found = both(program)
    equal(expected, found)
    assert ours.layers.LSTM(2).compute_mask(pyburn.zeros(1, 2, 3)) is None


def test_a_pickled_model_keeps_the_names_of_its_weights():
    x = ours.Input((2,))
    model = ours.Model(x, ours.layers.BatchNormalization()(ours.layers.Dense(3, name="first")(x)))
    again = pickle.loads(pickle.dumps(model))
    assert [each.path for each in again.weights] == [each.path for each in model.weights]
    assert again.weights[0].path == "first/kernel" and again.weights[-1].name == "moving_variance"
    equal(model.get_weights(), again.get_weights())
    again.weights[0].assign(np.ones((2, 3)))
    assert not model.weights[0].numpy().all() or model.weights[0].numpy().std() > 0


def test_settings_have_their_older_names():
    def program(k, same):
        policy = k.mixed_precision.Policy("mixed_bfloat16")
        nest = {"a": [1, 2], "b": (3,)}
        doubled = k.tree.map_structure(lambda x, y: x + y, nest, nest)
        names = [type(k.initializers.glorot_uniform()).__name__, policy.name, k.dtype_policies.get("float32").name]
        return (
            [*names, k.backend.floatx(), k.backend.image_data_format(), k.backend.backend(), str(doubled)],
            k.tree.flatten(nest),
        )

    expected, found = both(program)
    assert expected == found
    with pytest.raises(ValueError, match="same structure"):
        ours.tree.map_structure(print, [1], [1, 2])
    with pytest.raises(ValueError, match="1 leaves, but 2 were given"):
        ours.tree.pack_sequence_as([1], [1, 2])


def test_verbose_auto_is_a_line_for_each_epoch_without_interactive_logging(capsys):
    model = ours.Sequential([ours.Input((2,)), ours.layers.Dense(1)])
    model.compile("sgd", "mse")
    ours.utils.disable_interactive_logging()
    try:
        assert not ours.utils.is_interactive_logging_enabled()
        model.fit(array((4, 2)), array((4, 1)), epochs=2)
    finally:
        ours.utils.enable_interactive_logging()
    assert "\r" not in capsys.readouterr().out and ours.config.is_interactive_logging_enabled()


def pictures(folder, count=5):
    from PIL import Image

    random = np.random.default_rng(0)
    for name in ("cats", "dogs"):
        (folder / name).mkdir()
        for number in range(count):
            values = random.integers(0, 256, (10, 14, 3)).astype("uint8")
            Image.fromarray(values).save(folder / name / f"{number}.png")
    return folder


def test_images_as_arrays_and_back(tmp_path):
    path = pictures(tmp_path) / "cats" / "0.png"

    def program(k, same):
        img = k.utils.load_img(path, target_size=(6, 7), interpolation="bilinear")
        gray = k.utils.load_img(path, color_mode="grayscale", target_size=(6, 6), keep_aspect_ratio=True)
        first = k.preprocessing.image.img_to_array(img)
        second = k.utils.img_to_array(gray, data_format="channels_first", dtype="uint8")
        k.utils.save_img(tmp_path / "saved.png", first)
        back = np.asarray(k.utils.array_to_img(second, data_format="channels_first"))
        return first, second, back, np.asarray(k.utils.load_img(tmp_path / "saved.png"))

    expected, found = both(program)
    equal(expected, found)
    with pytest.raises(ValueError, match=r"1, 3 or 4 channels, but the shape is \(2, 2, 2\)"):
        ours.utils.array_to_img(np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match="color_mode is 'bgr'"):
        ours.utils.load_img(path, color_mode="bgr")


def test_a_folder_of_images_trains_a_model(tmp_path):
    from keras.src.utils import dataset_utils

    pictures(tmp_path)
    settings = {"image_size": (8, 8), "batch_size": 4, "seed": 3, "validation_split": 0.3, "verbose": False}
    make = ours.utils.image_dataset_from_directory
    train, valid = make(tmp_path, subset="both", label_mode="binary", **settings)
    # Keras needs TensorFlow for the images, but not for the order of the files.
    paths, _, _ = dataset_utils.index_directory(
        str(tmp_path), "inferred", (".png",), shuffle=True, seed=3, verbose=False
    )
    assert train.file_paths == paths[:7] and valid.file_paths == paths[7:] and train.class_names == ["cats", "dogs"]
    assert (len(train), len(valid)) == (2, 1)
    order = make(tmp_path, shuffle=False, image_size=(8, 8), batch_size=4, verbose=False)
    images, numbers = order[2]
    assert images.shape == (2, 8, 8, 3) and numbers.tolist() == [1, 1] and images.max() > 1
    whole = np.stack([keras.utils.img_to_array(keras.utils.load_img(path)) for path in order.file_paths[8:]])
    equal(keras.ops.image.resize(whole, (8, 8)), images)
    assert sorted(len(y) for _, y in train.map(lambda x, y: (x / 255, y)).take(1)) == [4]
    rows = [ours.layers.Rescaling(1 / 255), ours.layers.Flatten(), ours.layers.Dense(1, activation="sigmoid")]
    model = ours.Sequential([ours.Input((8, 8, 3)), *rows])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(train, validation_data=valid.prefetch(1), epochs=2, verbose=0).history
    assert len(history["val_accuracy"]) == 2
    for bad, text in (
        ({"validation_split": 0.2}, "must be given together"),
        ({"validation_split": 0.2, "subset": "training"}, "needs a seed"),
        ({"class_names": ["birds"]}, "birds.*the folders of"),
        ({"labels": [1]}, "labels has 1 entries"),
        ({"label_mode": "some"}, "label_mode is 'some'"),
        ({"color_mode": "bgr"}, "color_mode is 'bgr'"),
    ):
        with pytest.raises(ValueError, match=text):
            make(tmp_path, verbose=False, **bad)


def test_a_folder_of_texts(tmp_path):
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
        for number in range(3):
            (tmp_path / name / f"{number}.txt").write_text(f"{name} film {number}")
    texts = ours.utils.text_dataset_from_directory(tmp_path, batch_size=4, shuffle=False, verbose=False, max_length=8)
    assert texts[0][0] == ["bad film", "bad film", "bad film", "good fil"] and texts[1][1].tolist() == [1, 1]
    assert len(ours.utils.text_dataset_from_directory(tmp_path, labels=None, verbose=False)[0]) == 6


def test_windows_of_a_series():
    series, wanted = np.arange(20.0)[:, None], np.arange(20)
    make = ours.utils.timeseries_dataset_from_array
    found = list(make(series, wanted, 4, sequence_stride=2, sampling_rate=2, batch_size=3, start_index=1, end_index=18))
    # 17 times are left; windows of 4 at a rate of 2 span 7 of them, and every second of 11 beginnings counts.
    starts = [1, 3, 5, 7, 9, 11]
    assert [len(x) for x, _ in found] == [3, 3]
    assert [number for _, y in found for number in y.tolist()] == starts
    assert [x[:, 0].tolist() for batch, _ in found for x in batch] == [[s, s + 2, s + 4, s + 6] for s in starts]
    assert make(series, None, 3, batch_size=None)[5].shape == (3, 1)
    with pytest.raises(ValueError, match=r"20 times, too few.*sequence_length=30"):
        make(series, None, 30)
    with pytest.raises(ValueError, match="sampling_rate is 0"):
        make(series, None, 3, sampling_rate=0)


@pytest.mark.parametrize(
    "name", ["PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity"]
)
def test_best_points_of_curves(name):
    random = np.random.default_rng(0)
    true, pred, weight = (
        random.integers(0, 2, (50, 3)),
        random.random((50, 3)).astype("float32"),
        random.random((50, 3)),
    )

    def program(k, same):
        found = []
        for value, settings in ((0.5, {}), (0.9, {"num_thresholds": 7}), (0.3, {"class_id": 1}), (1.0, {})):
            metric = getattr(k.metrics, name)(value, **settings)
            metric.update_state(true[:20], pred[:20])
            if not settings:
                metric.update_state(true[20:], pred[20:], sample_weight=weight[20:])
            again = type(metric).from_config(metric.get_config())
            again.update_state(true, pred)
            found += [metric.result(), again.result()]
        return found

    expected, found = both(program)
    equal(expected, found)
    with pytest.raises(ValueError, match=rf"{name}: .* is 2, but must be between 0 and 1"):
        getattr(ours.metrics, name)(2)


def test_correlations():
    def program(k, same):
        found = []
        for metric in (k.metrics.PearsonCorrelation(axis=0), k.metrics.ConcordanceCorrelation(), "pearson_correlation"):
            metric = k.metrics.get(metric) if isinstance(metric, str) else metric
            if hasattr(metric, "update_state"):
                metric.update_state(array((9, 4)), array((9, 4), 1))
                found.append(metric.result())
            else:
                found.append(metric(array((9, 4)), array((9, 4), 1)))
        return found

    expected, found = both(program)
    equal(expected, found)


def fitted(x, y, **kwargs):
    model = ours.Sequential([ours.Input((4,)), ours.layers.Dense(1)])
    model.compile("adam", "mse")
    return model.fit(x, y, verbose=0, **kwargs)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda: fitted(array((8, 4)), array((8, 1)), batch_size=0), "batch_size is 0, but must be a positive whole"),
        (lambda: fitted(array((8, 4)), array((8, 1)), epochs="3"), "epochs='3'.*must be whole numbers"),
        (lambda: fitted(np.array([["a"] * 4] * 8), array((8, 1))), "the data holds texts.*TextVectorization"),
        (lambda: ours.layers.MultiHeadAttention(2, 4)(ours.Input((4, 8))), r"needs a query and a value.*layer\(x, x\)"),
        (
            lambda: ours.layers.BatchNormalization(axis=5)(ours.Input((3,))),
            r"no axis 5 in an input of shape \(None, 3\)",
        ),
        (lambda: ours.layers.MaxPooling2D(padding="sme"), "MaxPooling2D: padding is 'sme'"),
        (lambda: ours.layers.Conv1D(2, 3, padding="sme"), "Conv1D: padding is 'sme'"),
        (lambda: ours.optimizers.Adam("fast"), "Adam: learning_rate is 'fast'"),
        (
            lambda: ours.layers.Concatenate(name="both")([pyburn.zeros(2, 3), pyburn.zeros(3, 3)]),
            r"both \(Concatenate\) needs inputs that differ along axis -1 only, but got \[\(2, 3\), \(3, 3\)\]",
        ),
    ],
)
def test_mistakes_are_told_with_the_layer_the_rule_and_the_fix(program, text):
    with pytest.raises(ValueError, match=text):
        program()


def test_numbers_of_numpy_are_epochs_and_sizes():
    history = fitted(array((8, 4)), array((8, 1)), epochs=np.int64(2), batch_size=np.int32(4))
    assert len(history.history["loss"]) == 2


@ours.saving.register_keras_serializable(package="stranger")
class Words(ours.Model):
    def __init__(self, units=4, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.embed, self.norm = ours.layers.Embedding(9, units), ours.layers.BatchNormalization()
        self.last = ours.layers.Dense(1)

    def call(self, inputs, training=None):
        ids, more = inputs
        found = ours.ops.mean(self.embed(ids), axis=1)
        return self.last(ours.ops.concatenate([self.norm(found, training=training), more], axis=-1))

    def get_config(self):
        return {"units": self.units}


def test_a_subclass_that_was_only_called_is_saved_and_read(tmp_path):
    ids, more, y = array((6, 5), low=0, high=9), array((6, 2)), array((6, 1))
    model = Words(3)
    model.compile("adam", "mse")
    model.fit([ids, more], y, epochs=2, verbose=0)
    model.save(tmp_path / "words.keras")
    again = ours.saving.load_model(tmp_path / "words.keras")
    equal(model.predict([ids, more], verbose=0), again.predict([ids, more], verbose=0))
    assert again.fit([ids, more], y, verbose=0).history["loss"][0] > 0


def test_steps_without_a_size_of_batches_go_through_all_samples():
    def program(k, same):
        x, y = array((20, 4)), array((20, 2), 1)
        model = k.Sequential([k.Input((4,)), k.layers.Dense(2)])
        same(model)
        model.compile("sgd", "mse")
        history = model.fit(x, y, steps_per_epoch=3, epochs=2, shuffle=False, verbose=0).history
        return history, model.evaluate(x, y, steps=1, verbose=0), model.predict(x, steps=2, verbose=0)

    expected, found = both(program)
    equal(expected, found)


def test_a_layer_as_a_dictionary_and_back():
    def program(k, same):
        described = k.layers.serialize(k.layers.Dense(3, activation="relu", name="first"))
        made = k.layers.deserialize(described)
        return [described["class_name"], made.name, made.units, made.get_config()["activation"]]

    expected, found = both(program)
    assert expected == found
